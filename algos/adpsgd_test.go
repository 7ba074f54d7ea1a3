package algos

import (
	"errors"
	"slices"
	"testing"

	"gossiptrainer/topology"
)

// meet lets workers at x and y exchange their models. Each takes a gradient step before it uses the other one.
func meet(t *testing.T, weight float32, x, y, g []float32) (one, other *ADPSGD) {
	t.Helper()
	full := func(topology.Rank) Codec { return Full{} }
	one = &ADPSGD{X: slices.Clone(x), Alpha: constantly(1), Codec: full, Weight: weight}
	other = &ADPSGD{X: slices.Clone(y), Alpha: constantly(1), Codec: full, Weight: weight}
	offer, err := one.Encode(nil, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := other.Encode([]byte("head"), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	reply = reply[len("head"):]
	one.Descend(0, g)
	other.Descend(0, g)
	mixed, err := other.Average(0, y, reply, Message{From: 0, Payload: offer})
	if err != nil || mixed.Moved != len(x) {
		t.Fatalf("%+v, %v", mixed, err)
	}
	if _, err := one.Average(0, x, offer, Message{From: 1, Payload: reply}); err != nil {
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
	for _, payload := range [][]byte{nil, {1, 2, 3}} {
		_, err := a.Average(0, []float32{1, 2}, nil, Message{From: 3, Payload: payload})
		if !errors.As(err, &bad) || bad.From != 3 {
			t.Errorf("%v: %v", payload, err)
		}
	}
	if !slices.Equal(a.X, []float32{1, 2}) {
		t.Errorf("model %v", a.X)
	}
}
