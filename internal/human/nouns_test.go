package human

import "testing"

func TestParts(t *testing.T) {
	for want, got := range map[string]string{
		"1 of 2 cells is":  Part(1, 2, "cell") + " " + Verb(1, "is", "are"),
		"1 of 1 cell is":   Part(1, 1, "cell") + " " + Verb(1, "is", "are"),
		"0 of 1 cell are":  Part(0, 1, "cell") + " " + Verb(0, "is", "are"),
		"3 of 4 cells are": Part(3, 4, "cell") + " " + Verb(3, "is", "are"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCounts(t *testing.T) {
	for _, test := range []struct {
		n    int
		noun string
		want string
	}{
		{1, "seed", "1 seed"},
		{0, "seed", "0 seeds"},
		{2, "round", "2 rounds"},
		{1, "process", "1 process"},
		{3, "process", "3 processes"},
		{2, "batch", "2 batches"},
		{2, "entry", "2 entries"},
		{2, "key", "2 keys"},
		{2, "delay", "2 delays"},
		{-1, "step", "-1 steps"},
	} {
		if got := Count(test.n, test.noun); got != test.want {
			t.Errorf("%d and %s are %q, want %q", test.n, test.noun, got, test.want)
		}
	}
}
