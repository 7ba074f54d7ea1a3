package record

import (
	"maps"
	"math"
	"slices"
)

// A MemberGoal watches a run whose members come and go for its targets while the run goes on. Clocks of members differ,
// so it counts in rounds. A round is over once all members of the latest view are past it, and counts for those that
// recorded it. Events of one member must come in order.
type MemberGoal struct {
	left   Targets // not reached yet; no field is set when all are
	every  int     // rounds to an exchange
	alone  bool
	free   bool        // members count steps of their own
	began  map[int]int // of such a member that joined: the round of the others from which it counts on
	view   int
	past   map[int]int // by member of the latest view: the rounds that it has done
	losses rounds
	scores rounds // accuracies
	recent []float64
}

// rounds are numbers by round and member.
type rounds map[int]map[int]float64

// NewMemberGoal watches a run with an exchange every so many rounds.
func NewMemberGoal(t Targets, every int) *MemberGoal {
	return &MemberGoal{left: t, every: every, view: -1, past: map[int]int{}, losses: rounds{}, scores: rounds{}}
}

// NewLoneGoal watches the member of this process, which hears no other one.
func NewLoneGoal(t Targets, every int) *MemberGoal {
	g := NewMemberGoal(t, every)
	g.alone = true
	return g
}

// NewFreeGoal watches a run whose members count steps of their own. A newcomer has the model of a sponsor, so its first
// step counts for the round that all others are past.
func NewFreeGoal(t Targets) *MemberGoal {
	g := NewMemberGoal(t, 1)
	g.free, g.began = true, map[int]int{}
	return g
}

// See takes an event, and reports whether the last of the targets was reached with it.
func (g *MemberGoal) See(e Event) bool {
	if g.left == (Targets{}) {
		return false // and there is nothing to remember
	}
	switch {
	case e.Status != nil && e.Status.View != nil:
		g.enter(*e.Status.View, e.Status.Rank)
	case e.Step != nil:
		round := g.began[e.Step.Rank] + e.Step.Round
		if !math.IsNaN(e.Step.Loss) {
			g.losses.add(round, e.Step.Rank, e.Step.Loss)
		}
		if past, member := g.past[e.Step.Rank]; member {
			g.past[e.Step.Rank] = max(past, round)
		}
	case e.Score != nil:
		g.scores.add(g.began[e.Score.Rank]+e.Score.Round, e.Score.Rank, e.Score.Accuracy)
	default:
		return false
	}
	g.count()
	return g.left == Targets{}
}

// enter takes a view. A newcomer is past the rounds before it.
func (g *MemberGoal) enter(v Membership, teller int) {
	members := v.Members
	if g.alone {
		members = []int{teller}
	} else if v.View <= g.view {
		return
	}
	before, least := g.past, 0
	if g.free && len(before) > 0 {
		least = slices.Min(slices.Collect(maps.Values(before)))
	}
	g.view, g.past = v.View, map[int]int{}
	for _, id := range members {
		if _, known := before[id]; !known && g.free {
			g.began[id] = least
		}
		g.past[id] = max(before[id], v.First*g.every, g.began[id])
	}
}

// count takes the rounds that are over.
func (g *MemberGoal) count() {
	if len(g.past) == 0 {
		return
	}
	past := slices.Min(slices.Collect(maps.Values(g.past)))
	for _, loss := range g.losses.take(past) {
		g.recent = append(g.recent, loss)
		g.recent = g.recent[max(0, len(g.recent)-Smoothing):]
		if len(g.recent) == Smoothing && g.left.Loss > 0 && mean(g.recent) <= g.left.Loss {
			g.left.Loss = 0
		}
	}
	for _, accuracy := range g.scores.take(past - 1) { // a member may tell the score of a round after its loss
		if accuracy >= g.left.Accuracy {
			g.left.Accuracy = 0
		}
	}
}

func (r rounds) add(round, id int, value float64) {
	if r[round] == nil {
		r[round] = map[int]float64{}
	}
	r[round][id] = value
}

// take removes the rounds up to the last one. It returns their means in order, summed in the order of members.
func (r rounds) take(last int) (means []float64) {
	for _, round := range slices.Sorted(maps.Keys(r)) {
		if round > last {
			break
		}
		var all []float64
		for _, id := range slices.Sorted(maps.Keys(r[round])) {
			all = append(all, r[round][id])
		}
		means = append(means, mean(all))
		delete(r, round)
	}
	return means
}
