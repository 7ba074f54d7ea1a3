package train

import (
	"fmt"
	"math"
)

// A Schedule is the step size α_k as a function of the round k alone. It never
// increases.
type Schedule struct {
	first  float64
	rounds int // of the cosine; 0 = constant
}

// NewSchedule returns a schedule that begins at stepSize > 0: "constant", or
// "cosine" (Loshchilov and Hutter, "SGDR", 2017, eq. 5, one period down to
// zero), which is α/2·(1 + cos(π·k/rounds)).
func NewSchedule(name string, stepSize float64, rounds int) (Schedule, error) {
	if !(stepSize > 0) || stepSize > math.MaxFloat32 {
		return Schedule{}, fmt.Errorf("train: step size %v: want a finite number above 0", stepSize)
	}
	switch name {
	case "constant":
		return Schedule{first: stepSize}, nil
	case "cosine":
		if rounds < 1 {
			return Schedule{}, fmt.Errorf("train: cosine schedule over %d rounds: want at least 1", rounds)
		}
		return Schedule{stepSize, rounds}, nil
	}
	return Schedule{}, fmt.Errorf("train: unknown schedule %q: want constant or cosine", name)
}

// At returns α_k in float64, for the rules of theta; k ≥ 0.
func (s Schedule) At(k int) float64 {
	if s.rounds == 0 {
		return s.first
	}
	if k >= s.rounds {
		return 0
	}
	return s.first / 2 * (1 + math.Cos(math.Pi*float64(k)/float64(s.rounds)))
}

// StepSize returns α_k as it is applied: rounded down, so that it never exceeds the value that the rules of theta used.
// As a method value it is an algos.StepSize.
func (s Schedule) StepSize(k int) float32 { return roundDown(s.At(k)) }
