package record

import "testing"

// memberEvents are those of two members with a record of each tenth round, in which a third one joins at round 30.
func memberEvents(losses ...float64) (all []Event) {
	view := func(teller int, v Membership) {
		all = append(all, Event{Status: &Status{Rank: teller, State: Training, View: &v}})
	}
	view(0, Membership{View: 0, Members: []int{0, 1}})
	view(1, Membership{View: 0, Members: []int{0, 1}})
	members := []int{0, 1}
	for i, loss := range losses {
		if i == 3 {
			members = []int{0, 1, 2}
			view(0, Membership{View: 1, First: 15, Members: members})
		}
		for _, id := range members {
			all = append(all, Event{Step: &Step{Rank: id, Round: 10 * (i + 1), Loss: loss}})
		}
	}
	return all
}

// reachedAt returns the index of the event at which a goal is reached, −1 if it never is.
func reachedAt(g *MemberGoal, events []Event) int {
	for i, e := range events {
		if g.See(e) {
			return i
		}
	}
	return -1
}

// The mean loss of five records ends a run once the last member of the view has the fifth. A newcomer has no record of
// the rounds before its view, and the goal waits for none.
func TestMembersReachALoss(t *testing.T) {
	events := memberEvents(9, 8, 7, 6, 5, 4) // 2 views, 6 steps, a view, 9 steps
	for target, want := range map[float64]int{7: 14, 6.9: 17, 6: 17, 5.9: -1} {
		if at := reachedAt(NewMemberGoal(Targets{Loss: target}, 2), events); at != want {
			t.Errorf("loss %v is reached at event %d, want %d", target, at, want)
		}
	}
	if at := reachedAt(NewMemberGoal(Targets{}, 2), events); at != -1 {
		t.Errorf("no target is reached at event %d", at)
	}
}

// The others wait for the rounds of a silent member, until a view is without it.
func TestMembersReachALossWithoutTheDead(t *testing.T) {
	events := memberEvents(9, 8, 7)
	events = events[:len(events)-1] // member 1 has died
	for round := 40; round <= 60; round += 10 {
		events = append(events, Event{Step: &Step{Rank: 0, Round: round, Loss: 1}})
	}
	g := NewMemberGoal(Targets{Loss: 6}, 2)
	if at := reachedAt(g, events); at != -1 {
		t.Fatalf("reached at event %d: member 1 has not done the rounds", at)
	}
	v := Membership{View: 1, First: 18, Members: []int{0}}
	if !g.See(Event{Status: &Status{Rank: 0, View: &v}}) {
		t.Error("not reached in the view without the dead member")
	}
}

// An accuracy is the mean over the members that have scored the round, once all are past it.
func TestMembersReachAnAccuracy(t *testing.T) {
	score := func(rank int, accuracy float64) Event {
		return Event{Score: &Score{Rank: rank, Round: 10, Accuracy: accuracy}}
	}
	events := memberEvents(9, 8)
	events = append(events[:2:2], append([]Event{score(0, 0.5), score(1, 0.9)}, events[2:]...)...)
	for target, want := range map[float64]int{0.7: 7, 0.71: -1} { // 2 views, 2 scores, 4 steps
		if at := reachedAt(NewMemberGoal(Targets{Accuracy: target}, 2), events); at != want {
			t.Errorf("accuracy %v is reached at event %d, want %d", target, at, want)
		}
	}
}

// A newcomer that counts steps of its own delays no goal: its steps count from the round that the others are past.
func TestANewcomerOfPairsDelaysNoGoal(t *testing.T) {
	view := func(v Membership) Event { return Event{Status: &Status{State: Training, View: &v}} }
	step := func(rank, round int, loss float64) Event {
		return Event{Step: &Step{Rank: rank, Round: round, Loss: loss}}
	}
	events := []Event{view(Membership{Members: []int{0, 1}})}
	for round := 10; round <= 30; round += 10 {
		events = append(events, step(0, round, 9), step(1, round, 9))
	}
	events = append(events, view(Membership{View: 1, Members: []int{0, 1, 2}}))
	for round := 40; round <= 50; round += 10 {
		events = append(events, step(0, round, 4), step(1, round, 4), step(2, round-30, 1))
	}
	mean := 9*0.6 + 3*0.4 // of three records of two members, and two of three
	for target, want := range map[float64]int{mean: len(events) - 1, mean - 0.1: -1} {
		if at := reachedAt(NewFreeGoal(Targets{Loss: target}), events); at != want {
			t.Errorf("loss %v is reached at event %d, want %d", target, at, want)
		}
	}
}

// A process that hears one member counts it alone, also under the id with which it comes back.
func TestAMemberReachesALossAlone(t *testing.T) {
	var events []Event
	for id, first := range []int{0, 4} {
		v := Membership{View: 3 * id, First: first, Members: []int{id, 7}}
		events = append(events, Event{Status: &Status{Rank: id, View: &v}})
		for i := range 3 {
			events = append(events, Event{Step: &Step{Rank: id, Round: 8*id + 10*(i+1), Loss: 1}})
		}
	}
	if at := reachedAt(NewLoneGoal(Targets{Loss: 1}, 2), events); at != 6 {
		t.Errorf("reached at event %d, want 6", at)
	}
}
