package algos

import (
	"errors"
	"slices"
	"testing"

	"gossiptrainer/topology"
)

// meet lets a worker at x offer an exchange to a worker at y. Both take a gradient step between the offer and the
// reply.
func meet(t *testing.T, weight float32, x, y, g []float32) (one, other *ADPSGD) {
	t.Helper()
	full := func(topology.Rank) Codec { return Full{} }
	one = &ADPSGD{X: slices.Clone(x), Alpha: constantly(1), Codec: full, Weight: weight}
	other = &ADPSGD{X: slices.Clone(y), Alpha: constantly(1), Codec: full, Weight: weight}
	offer, err := one.Offer(nil, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	one.Descend(0, g)
	reply, mixed, err := other.Answer([]byte("head"), 0, Message{From: 0, Payload: offer})
	if err != nil || mixed.Moved != len(x) {
		t.Fatalf("%+v, %v", mixed, err)
	}
	other.Descend(0, g)
	if _, err := one.Settle(0, x, offer, Message{From: 1, Payload: reply[len("head"):]}); err != nil {
		t.Fatal(err)
	}
	return one, other
}

func constantly(alpha float32) StepSize { return func(int) float32 { return alpha } }

func TestAnExchangeKeepsTheGradientsInBetween(t *testing.T) {
	for _, c := range []struct {
		name       string
		weight     float32
		one, other []float32
	}{
		{"half of the way", 0.5, []float32{3, 6}, []float32{3, 6}},
		{"slack 1/2: a quarter", 0.25, []float32{2, 4}, []float32{4, 8}},
	} {
		one, other := meet(t, c.weight, []float32{2, 3}, []float32{6, 11}, []float32{1, 1})
		if !slices.Equal(one.X, c.one) || !slices.Equal(other.X, c.other) {
			t.Errorf("%s: %v and %v, want %v and %v", c.name, one.X, other.X, c.one, c.other)
		}
	}
}

func TestAnExchangeThatCannotBeUsedChangesNothing(t *testing.T) {
	a := &ADPSGD{X: []float32{1, 2}, Codec: func(topology.Rank) Codec { return Full{} }, Weight: 0.5}
	var bad *MessageError
	if _, _, err := a.Answer(nil, 0, Message{From: 3, Payload: []byte{1, 2, 3}}); !errors.As(err, &bad) || bad.From != 3 {
		t.Errorf("offer: %v", err)
	}
	if _, err := a.Settle(0, []float32{1, 2}, nil, Message{From: 3}); !errors.As(err, &bad) || bad.From != 3 {
		t.Errorf("reply: %v", err)
	}
	if !slices.Equal(a.X, []float32{1, 2}) {
		t.Errorf("model %v", a.X)
	}
}
