package algos_test

import (
	"errors"
	"slices"
	"testing"

	"gossiptrainer/algos"
)

func TestValuesBeyondTheLimitAreRefusedAndChangeNothing(t *testing.T) {
	x, sound, absurd := vector(1, 300), vector(2, 300), vector(3, 300)
	absurd[299] = -1e30
	acc := slices.Clone(x)
	in := []algos.Message{
		{From: 1, Weight: 0.25, Payload: encode(t, sound), Limit: 100},
		{From: 4, Weight: 0.5, Payload: encode(t, absurd), Limit: 100},
	}
	_, err := algos.Full{}.Mix(acc, 3, x, nil, in)
	var bad *algos.MessageError
	if !errors.As(err, &bad) || bad.From != 4 || !errors.Is(err, algos.ErrAbsurd) {
		t.Errorf("error %v, want one of worker 4's absurd values", err)
	}
	const want = "message from worker 4: absurd values: 1e+30 in magnitude, want at most 100"
	if err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	if !slices.Equal(acc, x) {
		t.Error("refused, but mixed")
	}
	in[1].Limit = 2e30
	if _, err := (algos.Full{}).Mix(acc, 3, x, nil, in); err != nil {
		t.Errorf("within the limit: %v", err)
	}
}
