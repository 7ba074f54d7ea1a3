package algos_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gossiptrainer/algos"
)

func constant(alpha float32) algos.StepSize { return func(int) float32 { return alpha } }

// Worker 0 of a triangle with weights 1/4, by hand.
func TestDPSGDRound(t *testing.T) {
	tests := []struct {
		name  string
		order algos.Order
		x     float32 // x_k = x, the neighbours' messages say 5 and 8, g = 2, α = 1/2
		want  float32
	}{
		{"combine, then adapt", algos.CTA, 1, 1 + 0.25*(5-1) + 0.25*(8-1) - 1},
		{"adapt, then combine", algos.ATC, 1, 0 + 0.25*(5-0) + 0.25*(8-0)},
	}
	in := []algos.Message{{From: 1, Weight: 0.25, Payload: raw(5)}, {From: 2, Weight: 0.25, Payload: raw(8)}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := &algos.DPSGD{X: []float32{test.x}, Alpha: constant(0.5), Codec: algos.Full{}, Order: test.order}
			steps := []func() error{
				func() error { _, err := a.Send(0, 0, nil); return err },
				func() error { _, err := a.Mix(0, 0, in); return err },
				func() error { return a.Descend(0, []float32{2}) },
			}
			if !a.Plan().Overlap {
				steps = append(steps[2:], steps[:2]...)
			}
			for _, step := range steps {
				if err := step(); err != nil {
					t.Fatal(err)
				}
			}
			if a.Params()[0] != test.want {
				t.Errorf("x = %v, want %v", a.X[0], test.want)
			}
		})
	}
}

func TestDPSGDPlans(t *testing.T) {
	for order, overlap := range map[algos.Order]bool{algos.CTA: true, algos.ATC: false} {
		a := &algos.DPSGD{Order: order}
		if want := (algos.Plan{Hops: 1, Overlap: overlap, Lead: 1}); a.Plan() != want {
			t.Errorf("order %d: plan %+v, want %+v", order, a.Plan(), want)
		}
		if a.ExtraMemory() != 0 {
			t.Errorf("order %d: %d bytes of extra memory", order, a.ExtraMemory())
		}
	}
}

func TestDPSGDTakesTheStepSizeOfTheRound(t *testing.T) {
	a := &algos.DPSGD{X: []float32{0}, Alpha: func(k int) float32 { return float32(k) }}
	for k := range 4 {
		if err := a.Descend(k, []float32{-1}); err != nil {
			t.Fatal(err)
		}
	}
	if a.X[0] != 0+1+2+3 {
		t.Errorf("x = %v, want 6", a.X[0])
	}
}

func TestDPSGDSendsNoNaN(t *testing.T) {
	a := &algos.DPSGD{X: []float32{nan}, Codec: algos.Full{}}
	if _, err := a.Send(3, 0, nil); err == nil {
		t.Error("sent NaN")
	}
}

// A spy records the arguments of a codec.
type spy struct {
	algos.Full
	acc, x []float32
	mine   []byte
}

func (s *spy) Mix(acc []float32, k int, x []float32, mine []byte, in []algos.Message) (algos.Mixed, error) {
	s.acc, s.x, s.mine = acc, x, mine
	return s.Full.Mix(acc, k, x, mine, in)
}

func TestDPSGDMixesInPlaceWithItsOwnPayload(t *testing.T) {
	codec := new(spy)
	a := &algos.DPSGD{X: []float32{1, 2}, Codec: codec}
	payload, err := a.Send(0, 0, []byte("header"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Mix(0, 0, nil); err != nil {
		t.Fatal(err)
	}
	if &codec.acc[0] != &a.X[0] || &codec.x[0] != &a.X[0] {
		t.Error("a vector besides the model is in use")
	}
	if !slices.Equal(codec.mine, raw(1, 2)) || &codec.mine[0] != &payload[len("header")] {
		t.Errorf("own payload % x, want a reference to % x", codec.mine, payload[len("header"):])
	}
}

func TestDPSGDIsUnchangedByABadMessage(t *testing.T) {
	a := &algos.DPSGD{X: []float32{1, 2}, Codec: algos.Full{}}
	if _, err := a.Send(0, 0, nil); err != nil {
		t.Fatal(err)
	}
	in := []algos.Message{{From: 1, Weight: 0.5, Payload: raw(7, 8)}, {From: 2, Weight: 0.5, Payload: raw(7)}}
	var bad *algos.MessageError
	if _, err := a.Mix(0, 0, in); !errors.As(err, &bad) || bad.From != 2 {
		t.Errorf("error %v, want that of worker 2's message", err)
	}
	if !slices.Equal(a.X, []float32{1, 2}) {
		t.Errorf("x became %v", a.X)
	}
}

// The mean moves by the mean gradient alone: x̄_{k+1} = x̄_k − α ḡ_k.
func TestDPSGDConservesTheMean(t *testing.T) {
	const n, d, rounds = 6, 50, 30
	var workers [n]*algos.DPSGD
	mean := make([]float64, d)
	for i := range workers {
		workers[i] = &algos.DPSGD{X: vector(uint64(i), d), Alpha: constant(0.1), Codec: algos.Full{}}
		for c, v := range workers[i].X {
			mean[c] += float64(v) / n
		}
	}
	for k := range rounds {
		var sent [n][]byte
		for i, a := range workers {
			payload, err := a.Send(k, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			sent[i] = payload
		}
		for i, a := range workers {
			left, right := (i+n-1)%n, (i+1)%n
			in := []algos.Message{{Weight: 1. / 3, Payload: sent[left]}, {Weight: 1. / 3, Payload: sent[right]}}
			if _, err := a.Mix(k, 0, in); err != nil {
				t.Fatal(err)
			}
			g := vector(uint64(100*k+i), d)
			if err := a.Descend(k, g); err != nil {
				t.Fatal(err)
			}
			for c, v := range g {
				mean[c] -= 0.1 * float64(v) / n
			}
		}
	}
	for c, want := range mean {
		var got float64
		for _, a := range workers {
			got += float64(a.X[c]) / n
		}
		if math.Abs(got-want) > 1e-6*math.Sqrt(rounds) {
			t.Errorf("coordinate %d: mean %v, want %v", c, got, want)
		}
	}
}
