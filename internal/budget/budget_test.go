package budget

import (
	"strings"
	"testing"
)

const million = 1_000_000

// ring returns a worker of D-PSGD with Moniqua at 8 bits on a ring.
func ring(parameters int) Worker {
	return Worker{
		Parameters: parameters, Payload: parameters + 8, Slots: 2, Ahead: 2, Neighbours: 2, Pieces: true, Rounds: 1000,
		Activations: 3 * million,
	}
}

// named are the owners that do not grow with the model.
func named(p Plan) int64 {
	sum := int64(0)
	for _, owner := range []string{Activations, Data, Journal, Links, Garbage, Runtime} {
		sum += p.Of(owner)
	}
	return sum
}

// A worker takes at most 3 times its model, with and without momentum and checkpoints, and what does not grow with it.
// Directions are 4 times, where they do not lie in the momentum.
func TestALargeModelIsThereFewTimes(t *testing.T) {
	for _, parameters := range []int{10 * million, 24 * million, 100 * million} {
		w := ring(parameters)
		model := 4 * int64(parameters)
		if p := w.Plan(); p.Total()-named(p) > 3*model+million {
			t.Errorf("%d parameters: %d bytes, want at most 3 models: %v", parameters, p.Total()-named(p), p)
		}
		w.Moments, w.Keeps = 1, true
		p := w.Plan()
		if p.Total()-named(p) > 4*model+2*million {
			t.Errorf("%d parameters: %d bytes with momentum and checkpoints, want at most 4 models: %v", parameters,
				p.Total()-named(p), p)
		}
		w.Part = million
		if p = w.Plan(); p.Total()-named(p) > 3*model+6*million {
			t.Errorf("%d parameters: %d bytes with directions in the momentum, want at most 3 models: %v", parameters,
				p.Total()-named(p), p)
		}
	}
}

// With 100 million parameters all owners together take less than 4 times the model, with momentum and checkpoints.
func TestAllOwnersOfAHugeModel(t *testing.T) {
	w := ring(100 * million)
	w.Moments, w.Keeps, w.Part, w.Repair, w.Activations, w.Data = 1, true, 2*million, 13*million, 20*million, million
	if p := w.Plan(); p.Total() > 4*p.Of(Model)*9/10 {
		t.Errorf("%d bytes for a model of %d, want less than 3.6 times as much: %v", p.Total(), p.Of(Model), p)
	}
}

func TestASmallStateIsCopied(t *testing.T) {
	w := ring(million)
	w.Moments, w.Keeps = 1, true
	if got := w.Plan().Of(Checkpoint); got != 8*million {
		t.Errorf("%d bytes for the copy of a state of 8 MB", got)
	}
	w.Parameters = 10 * million
	if got := w.Plan().Of(Checkpoint); got != draft {
		t.Errorf("%d bytes for a state of 80 MB, want %d", got, draft)
	}
}

func TestGarbageIsBounded(t *testing.T) {
	small, large := ring(million).Plan(), ring(1000*million).Plan()
	if small.Percent() < 99 || large.Percent() != 1 {
		t.Errorf("%d and %d per cent, want about 100 and 1", small.Percent(), large.Percent())
	}
}

func TestAWarningNamesTheLargestOwners(t *testing.T) {
	w := ring(100 * million)
	w.Moments = 1
	plans := []Plan{ring(million).Plan(), w.Plan()}
	if got := Warning(plans, 1<<40) + Warning(plans, 0); got != "" {
		t.Errorf("with room, or where it is not known: %q", got)
	}
	got := Warning(plans, 1000*million)
	for _, want := range []string{"1 GB are left", "model (400 MB)", "gradient (400 MB)", "momentum: 0", "a smaller"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not have %q", got, want)
		}
	}
}
