package plural

import "testing"

func TestOf(t *testing.T) {
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
		if got := Of(test.n, test.noun); got != test.want {
			t.Errorf("%d and %s are %q, want %q", test.n, test.noun, got, test.want)
		}
	}
}
