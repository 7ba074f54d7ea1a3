package screen

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gossiptrainer/internal/data"
)

// A task of 100 steps, one per second, shows nothing for a second, then no time for two, then the time.
func TestATaskShowsItsShareAndTheTimeThatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, written := asciiOutput(t)
		task := NewTaskProgress(o, InPlace).Begin("counting")
		time.Sleep(taskPatience - time.Nanosecond)
		if got := written(); got != "" {
			t.Errorf("%q within a second", got)
		}
		for second := range int64(10) {
			task.Reach(second+1, 100)
			time.Sleep(time.Second)
		}
		task.End()
		task.End()
		lines := strings.Split(written(), "\r\x1b[K")
		if got, want := lines[1], "counting: 1 %, ? left"; got != want {
			t.Errorf("first line %q, want %q", got, want)
		}
		if got, want := lines[len(lines)-2], "counting: 10 %, about 1m33s left"; got != want {
			t.Errorf("last line %q, want %q", got, want)
		}
		if lines[len(lines)-1] != "" {
			t.Errorf("%q is left on the terminal", lines[len(lines)-1])
		}
	})
}

func TestATaskOfUnknownLengthSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, written := asciiOutput(t)
		task := NewTaskProgress(o, InLines).Begin("solving")
		time.Sleep(70 * time.Second)
		task.Reach(7, 9)
		time.Sleep(30 * time.Second)
		task.End()
		want := "solving: 31s so far, ? left\nsolving: 1m1s so far, ? left\nsolving: 78 %, about 20s left\n"
		if got := written(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// Text between two lines in place stands alone.
func TestTextErasesTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, written := asciiOutput(t)
		task := NewTaskProgress(o, InPlace).Begin("solving")
		time.Sleep(taskPatience + taskInterval/2)
		if _, err := o.Write([]byte("a warning\n")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(taskInterval)
		task.End()
		const want = erased + "solving: 1s so far, ? left" + erased + "a warning\n" +
			erased + "solving: 1s so far, ? left" + erased
		if got := written(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestAShortOrUnseenTaskShowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for mode, takes := range map[Mode]time.Duration{InPlace: taskPatience / 2, Unseen: time.Hour} {
			o, written := asciiOutput(t)
			task := NewTaskProgress(o, mode).Begin("blinking")
			time.Sleep(takes)
			task.End()
			if got := written(); got != "" {
				t.Errorf("mode %d: %q", mode, got)
			}
		}
	})
}

// The time stands while estimates tremble, follows shorter ones by parts, and rises only where the task has become
// slower.
func TestACountdownDoesNotTremble(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var c Countdown
	for second, at := range []struct{ estimate, want int }{
		{100, 100}, {110, 100}, {90, 98}, {118, 98}, {95, 98}, {50, 87}, {200, 114}, {0, 85},
	} {
		got := c.Show(time.Duration(at.estimate)*time.Second, begin.Add(time.Duration(second)*time.Second))
		if got.Round(time.Second) != time.Duration(at.want)*time.Second {
			t.Errorf("second %d: %v, want %d s", second, got, at.want)
		}
	}
	if got := c.Show(0, begin.Add(time.Hour)); got != 0 {
		t.Errorf("%v after the end", got)
	}
}

// A steady task never shows more time than before, and is right when it ends.
func TestTheTimeOfASteadyTaskFalls(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p, last := pace{began: begin}, time.Hour
	for tick := 1; tick <= 400; tick++ {
		wobble := float64(tick%7-3) / 1000
		now := begin.Add(time.Duration(tick) * taskInterval)
		left := p.left(min(1, float64(tick)/400+wobble), now)
		known := left != Unknown
		if known != (now.Sub(begin) >= leastTime && float64(tick)/400+wobble >= leastShare) {
			t.Errorf("tick %d: known is %v", tick, known)
		}
		if known && left > last {
			t.Errorf("tick %d: %v after %v", tick, left, last)
		}
		if known {
			last = left
		}
	}
	if last > time.Second {
		t.Errorf("%v at the end", last)
	}
}

// A download that goes on is judged by its own bytes, not by those that were there.
func TestADownloadThatGoesOnKnowsItsSpeed(t *testing.T) {
	o, written := asciiOutput(t)
	p, begin := NewTaskProgress(o, InPlace), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for second := range 5 {
		p.Show(data.Progress{Set: "mnist", File: "a", Done: int64(5000 + 500*second), Total: 10000},
			begin.Add(time.Duration(second)*time.Second))
	}
	lines := strings.Split(written(), "\r\x1b[K")
	if got, want := lines[2], "mnist: a: 5.5 kB of 10 kB, ? left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := lines[5], "mnist: a: 7 kB of 10 kB, about 6s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
