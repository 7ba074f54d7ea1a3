package budget

import "testing"

// kept returns a worker of ring that keeps its state and its messages.
func kept(parameters int) Worker {
	w := ring(parameters)
	w.Moments, w.Keeps, w.Kept, w.Hops, w.Steps = 1, true, 2, 1, 1
	return w
}

// A journal is bounded: by four small intervals, by four checkpoints of a large model, or as the user says.
func TestAJournalIsBounded(t *testing.T) {
	small, large, set := kept(50_000), kept(100*million), kept(50_000)
	set.Longest = 8 * million
	for name, test := range map[string]struct {
		w    Worker
		want int64
	}{
		"small": {small, 64 << 20}, "large": {large, 4 * large.State()}, "set": {set, 8 * million},
	} {
		if got := Longest(test.w.Growth()); got != test.want {
			t.Errorf("%s: %d bytes, want %d", name, got, test.want)
		}
	}
	if large.Growth() > 4*4*100*million {
		t.Errorf("a journal grows by %d bytes between two checkpoints, want a few models", large.Growth())
	}
}

// A run that sends less than that has a journal of what it sends.
func TestAShortRunHasAShortJournal(t *testing.T) {
	w := kept(50_000)
	w.Rounds = 10
	if got := w.Stored().Of(Journal); got > 20*w.exchange() {
		t.Errorf("%d bytes for 10 messages", got)
	}
	w.Hops = 0
	if got := w.Stored().Of(Journal); got != 0 {
		t.Errorf("%d bytes for a worker that keeps no message", got)
	}
}

// On a disk with little room the journals of all workers take at most half of it.
func TestJournalsFitIntoHalfOfADisk(t *testing.T) {
	w := kept(50_000)
	for _, free := range []int64{4 * million, 30 * million, 100 * million, 100_000 * million} {
		all := 3 * Longest(w.GrowthIn(free, 3))
		if all > free/2 && w.GrowthIn(free, 3) > w.exchange() {
			t.Errorf("%d bytes free: journals of %d bytes", free, all)
		}
	}
	if got := w.GrowthIn(0, 3); got != w.exchange() {
		t.Errorf("%d bytes on a full disk, want those of an exchange", got)
	}
	if got := w.GrowthIn(1<<50, 3); got != w.Growth() {
		t.Errorf("%d bytes on a large disk, want %d", got, w.Growth())
	}
}
