package machine

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
)

func TestEveryPartIsDoneOnce(t *testing.T) {
	for _, c := range []struct{ lanes, parts int }{{1, 0}, {1, 5}, {4, 0}, {4, 1}, {4, 3}, {4, 1000}, {9, 10}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			done := make([]atomic.Int32, c.parts)
			inside := make([]atomic.Int32, c.lanes)
			Do(c.lanes, c.parts, func(lane, part int) {
				if inside[lane].Add(1) != 1 {
					t.Errorf("lane %d does two parts at once", lane)
				}
				done[part].Add(1)
				inside[lane].Add(-1)
			})
			for part := range done {
				if n := done[part].Load(); n != 1 {
					t.Errorf("part %d was done %d times", part, n)
				}
			}
		})
	}
}

// With several lanes, parts that wait for each other end.
func TestLanesWorkAtTheSameTime(t *testing.T) {
	const lanes = 3
	var there atomic.Int32
	all := make(chan struct{})
	Do(lanes, lanes, func(_, _ int) {
		if there.Add(1) == lanes {
			close(all)
		}
		<-all
	})
}

func TestPeersOfALabKeepACoreForFrames(t *testing.T) {
	for set, want := range map[string]int{
		"": runtime.GOMAXPROCS(0), "2": max(1, runtime.GOMAXPROCS(0)-1),
	} {
		t.Setenv("GOMAXPROCS", set)
		if got := FreeCores(); got != want {
			t.Errorf("GOMAXPROCS=%q: %d cores, want %d", set, got, want)
		}
	}
}
