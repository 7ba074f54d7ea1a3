package fault

import (
	"fmt"
	"slices"
	"testing"
	"time"

	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/topology"

	"pgregory.net/rapid"
)

func at(round int) Moment          { return Moment{Round: round} }
func when(t time.Duration) Moment  { return Moment{Timed: true, Time: t} }
func one(rank int) []topology.Rank { return []topology.Rank{topology.Rank(rank)} }
func told(changes []Change) string { return fmt.Sprint(changes) }
func (c Change) String() string {
	return map[bool]string{false: "+", true: "-"}[c.Over] + c.Fault.String()
}

func TestFaultsBeginAndEndInTheirOrder(t *testing.T) {
	p := NewPlay([]Fault{
		{At: at(40), Kind: Kill, Peers: one(3)},
		{At: when(2 * time.Second), Kind: Cut, Peers: []topology.Rank{0, 1}, Lasts: 5 * time.Second},
		{At: at(10), Kind: Hang, Peers: one(2), Lasts: time.Second},
		{At: at(10), Kind: Kill, Peers: one(1), Lasts: Never},
		{At: when(time.Second), Kind: Slow, Peers: one(0), By: 4, Lasts: 2 * time.Second},
	})
	if round, ok := p.Round(); round != 10 || !ok {
		t.Errorf("the first round is %d, %v, want 10", round, ok)
	}
	if next, ok := p.Next(); next != time.Second || !ok {
		t.Errorf("the first time is %v, %v, want 1s", next, ok)
	}
	for _, step := range []struct {
		changes []Change
		want    string
	}{
		{p.Begun(9, 0), "[]"},
		{p.Begun(12, 500*time.Millisecond), "[+hang 2 for 1s +kill 1 for good]"},
		{p.Until(999 * time.Millisecond), "[]"},
		{p.Until(time.Second), "[+slow 0 by 4 for 2s]"},
		{p.Until(4 * time.Second), "[-hang 2 for 1s +cut 0-1 for 5s -slow 0 by 4 for 2s]"},
		{p.Begun(100, 5*time.Second), "[+kill 3]"},
		{p.Until(time.Minute), "[-cut 0-1 for 5s]"},
	} {
		if got := told(step.changes); got != step.want {
			t.Errorf("got %s, want %s", got, step.want)
		}
	}
	if _, ok := p.Next(); ok {
		t.Error("something happens after the end")
	}
	if _, ok := p.Round(); ok {
		t.Error("a round is waited for after the last one")
	}
	if !p.Dead(1) || !p.Gone(1) || p.Dead(3) || p.Gone(3) {
		t.Errorf("dead are 1: %v, 3: %v, want 1 alone", p.Dead(1), p.Dead(3))
	}
}

func TestPendingFaultsHaveNotBegun(t *testing.T) {
	p := NewPlay([]Fault{
		{At: at(9), Kind: Kill, Peers: one(3)},
		{At: when(time.Second), Kind: Kill, Peers: one(0)},
		{At: at(5), Kind: Kill, Peers: one(1)},
		{At: when(time.Minute), Kind: Hang, Peers: one(2), Lasts: time.Second},
	})
	if got := fmt.Sprint(p.Pending()); len(p.Pending()) != 4 {
		t.Errorf("%s are pending before the run, want all four", got)
	}
	p.Begun(5, 0)
	p.Until(time.Second)
	want := []string{"kill 3 at round 9", "hang 2 for 1s at 1m0s"}
	var got []string
	for _, f := range p.Pending() {
		got = append(got, fmt.Sprintf("%v at %v", f.String(), f.At))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q are pending, want %q", got, want)
	}
	p.Begun(9, time.Second)
	p.Until(time.Hour)
	if left := p.Pending(); len(left) > 0 {
		t.Errorf("%v are pending in the end", left)
	}
}

func TestRestOfAScript(t *testing.T) {
	p := NewPlay(Rest([]Fault{
		{At: at(3), Kind: Kill, Peers: one(1)}, {At: at(5), Kind: Kill, Peers: one(2)},
		{At: when(time.Second), Kind: Kill, Peers: one(3)}, {At: when(2 * time.Second), Kind: Kill, Peers: one(4)},
	}, 4, 1500*time.Millisecond))
	if got := told(append(p.Begun(9, 0), p.Until(time.Minute)...)); got != "[+kill 2 +kill 4]" {
		t.Errorf("what happens is %s, want the deaths of 2 and 4", got)
	}
}

func TestFaultsOfOneThingAddUp(t *testing.T) {
	second := time.Second
	p := NewPlay([]Fault{
		{Kind: Cut, Peers: []topology.Rank{1, 0}, Lasts: 2 * second},
		{Kind: Split, Sides: [][]topology.Rank{{0}, {1, 2}}, Lasts: 3 * second},
		{Kind: Slow, Peers: one(2), By: 2, Lasts: 2 * second},
		{Kind: Slow, Peers: one(2), By: 3, Lasts: Never},
		{Kind: Rate, Peers: one(2), Bits: 5e6, Lasts: 2 * second},
		{Kind: Rate, Peers: one(2), Bits: 1e6, Lasts: second},
		{Kind: Hang, Peers: one(1), Lasts: second},
	})
	p.Begun(0, 0)
	for _, want := range []struct {
		now          time.Duration
		apart, split bool
		slow, rate   float64
		hangs        bool
	}{
		{0, true, true, 6, 1e6, true},
		{second, true, true, 6, 5e6, false},
		{2 * second, true, true, 3, 0, false},
		{3 * second, false, false, 3, 0, false},
	} {
		p.Until(want.now)
		if p.Apart(0, 1) != want.apart || p.Apart(3, 0) != want.split || p.Apart(1, 2) ||
			p.Slowdown(2) != want.slow || p.Rate(2) != want.rate || p.Hangs(1) != want.hangs || p.Slowdown(1) != 1 {
			t.Errorf("at %v: apart %v and %v, slow %v, rate %v, hangs %v, want %+v",
				want.now, p.Apart(0, 1), p.Apart(3, 0), p.Slowdown(2), p.Rate(2), p.Hangs(1), want)
		}
	}
}

// A play begins and ends each fault once, however often it is asked, and at the end no fault is active.
func TestEachFaultBeginsAndEndsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var script []Fault
		for range rapid.IntRange(0, 20).Draw(t, "faults") {
			f := Fault{Kind: Hang, Peers: one(rapid.IntRange(0, 3).Draw(t, "peer"))}
			f.Lasts = time.Duration(rapid.IntRange(0, 9).Draw(t, "lasts"))
			f.At = at(rapid.IntRange(0, 20).Draw(t, "at"))
			if rapid.Bool().Draw(t, "timed") {
				f.At = when(time.Duration(f.At.Round))
			}
			script = append(script, f)
		}
		p := NewPlay(script)
		var began, over int
		now := time.Duration(0)
		see := func(changes []Change) {
			for _, c := range changes {
				if c.Over {
					over++
				} else {
					began++
				}
			}
		}
		for round := 0; round <= 20; round++ {
			now += time.Duration(rapid.IntRange(0, 3).Draw(t, "pause"))
			see(p.Until(now))
			see(p.Begun(round, now))
		}
		see(p.Until(time.Hour))
		last := 0
		for _, f := range script {
			if f.Lasts > 0 {
				last++
			}
		}
		if began != len(script) || over != last {
			t.Errorf("%d began and %d ended, want %d and %d", began, over, len(script), last)
		}
		if slices.ContainsFunc([]int{0, 1, 2, 3}, func(rank int) bool { return p.Hangs(topology.Rank(rank)) }) {
			t.Error("somebody hangs at the end")
		}
	})
}
