package gossip_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
)

// The test tells the workers to hold still, and then the end, one by one and at any time. The parameters equal those of
// a run of that many rounds.
func TestARunThatEndsEarlyIsOneOfAsManyRounds(t *testing.T) {
	for _, family := range slices.Concat(families, compressed, switching) {
		t.Run(family.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
				s := family.make(newGraph(1+choose(6), choose), 1+choose(5), 1+choose(8))
				d := newNetwork(t, s)
				turn := func() {
					for range 5 * choose(12) {
						d.act(choose)
					}
				}
				turn()
				last := 0
				for _, w := range d.machines {
					begun := w.Hold()
					last = max(last, begun)
					turn()
					if again := w.Hold(); again != begun {
						t.Fatalf("%d rounds begun, %d before: it did not hold still", again, begun)
					}
				}
				for _, w := range d.machines {
					if err := w.End(last); err != nil {
						t.Fatal(err)
					}
					turn()
				}
				d.finish()
				clear(d.taken) // may hold forged frames of rounds after the end
				s.rounds = last
				d.check(lockstep(t, s))
			})
		})
	}
}

// pull is the step of worker 5 in round k: a gradient and a message.
func pull(t *testing.T, w *gossip.Worker, k int) {
	t.Helper()
	gradient(t, w, 1)
	receive(t, w, frame(2, k, 0, "a"))
}

func TestAWorkerThatHoldsStill(t *testing.T) {
	var crossed []int
	w := newWorker(t, pair, &script{plan: overlapping}, 9)
	w.AtBoundary(func(k int) { crossed = append(crossed, k) })
	equal(t, "rounds begun", w.Hold(), 1)
	pull(t, w, 0)
	r := w.Ready()
	if r.Compute || r.Done || r.Round != 1 || len(r.Send) > 0 || len(crossed) > 0 {
		t.Errorf("after round 0 it wants %+v and has crossed %v, want nothing", r, crossed)
	}
	receive(t, w, frame(2, 1, 0, "b")) // a worker that does not hold still yet is ahead
	equal(t, "rounds begun", w.Hold(), 1)
	for _, rounds := range []int{0, 10} {
		if err := w.End(rounds); err == nil || !strings.Contains(err.Error(),
			"the worker has begun a later round, or the run is not that long") {
			t.Errorf("end after %d rounds: error %v", rounds, err)
		}
	}
	if err := w.End(2); err != nil {
		t.Fatal(err)
	}
	equal(t, "boundaries", crossed, []int{1})
	gradient(t, w, 1)
	if r := w.Ready(); !r.Done || r.Round != 2 {
		t.Errorf("at the end it is at %+v", r)
	}
	if err := w.Receive(frame(2, 2, 0, "c")); !refusal(err) || !strings.Contains(err.Error(), gossip.ErrStale.Error()) {
		t.Errorf("a frame of a round that will not be: error %v", err)
	}
}

// A worker that returns after the end of the run begins no round.
func TestTheFirstRoundBeyondIsTakenBack(t *testing.T) {
	w := newWorker(t, pair, &script{plan: overlapping}, 9)
	var saved state.Snapshot
	w.AtBoundary(func(int) { take(&saved, w) })
	for k := range 3 {
		pull(t, w, k)
	}
	back, err := gossip.Resume(5, pair, &script{plan: overlapping}, gossip.Schedule{Rounds: 9, Every: 1}, &saved)
	if err != nil {
		t.Fatal(err)
	}
	if err := back.End(3); err != nil {
		t.Fatal(err)
	}
	back.Link(2, true)
	r := back.Ready()
	if !r.Done || r.Compute || len(r.Send) != 1 || r.Send[0].Round != 2 {
		t.Errorf("it wants %+v, want to be done and to send its last message again", r)
	}
}

// Without shared rounds each worker ends where it is, and no half of an exchange is lost.
func TestPairsThatHoldStillEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		const rounds = 40
		g := newGraph(1+choose(6), choose)
		c := newCrowd(t, g.rows(), rounds)
		start := c.sum()
		for range 5 * choose(20) {
			c.act(choose)
		}
		for _, w := range c.workers {
			begun := w.Hold()
			if err := w.End(begun); err != nil {
				t.Fatal(err)
			}
			for range choose(10) {
				c.act(choose)
			}
			if again := w.Hold(); again > begun {
				t.Fatalf("%d steps begun, %d before: it did not end", again, begun)
			}
		}
		c.finish()
		c.plan.Rounds = 0 // any part of the budget may be left
		c.check(start)
	})
}
