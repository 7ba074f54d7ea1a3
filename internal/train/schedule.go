package train

import (
	"fmt"
	"math"
	"slices"
)

// A StepPlan holds the settings of a schedule.
type StepPlan struct {
	Name       string  // see Schedules
	StepSize   float64 // α, the largest step size, > 0
	Rounds     int     // of the run; cosine and linear reach 0 at their end
	Warmup     int     // rounds in which the step size grows to α, 0 to Rounds
	DropEvery  int     // step: rounds from one drop to the next, ≥ 1
	DropFactor float64 // step: factor of a drop, in (0, 1]
}

// schedules returns the names of the schedules.
func schedules() []string { return []string{"constant", "cosine", "linear", "step"} }

// A Schedule is the step size α_k as a function of the round k alone. With a warm-up of W rounds it is α·(k+1)/W before
// round W. From there on, with t = k − W and R = rounds − W, it is
//
//	constant  α
//	cosine    α/2·(1 + cos(π·t/R))    Loshchilov and Hutter, "SGDR", 2017, eq. 5, one period down to zero
//	linear    α·(1 − t/R)
//	step      α·factor^⌊t/every⌋
//
// After its warm-up it never increases.
type Schedule struct {
	plan  StepPlan
	fixed float32 // α of a constant schedule as it is applied, else 0
}

// NewSchedule returns the schedule of a plan. It refuses numbers out of range.
func NewSchedule(p StepPlan) (Schedule, error) {
	falls := p.Name == "cosine" || p.Name == "linear"
	switch {
	case !(p.StepSize > 0) || p.StepSize > math.MaxFloat32:
		return Schedule{}, fmt.Errorf("train: step size %v: want a finite number above 0", p.StepSize)
	case !slices.Contains(schedules(), p.Name):
		return Schedule{}, fmt.Errorf("train: unknown schedule %q: want one of %v", p.Name, schedules())
	case p.Warmup < 0:
		return Schedule{}, fmt.Errorf("train: warm-up of %d rounds: want at least 0", p.Warmup)
	case falls && p.Rounds-p.Warmup < 1:
		return Schedule{}, fmt.Errorf("train: %s schedule over %d rounds after a warm-up of %d: want at least 1", p.Name,
			p.Rounds-p.Warmup, p.Warmup)
	case p.Name == "step" && (p.DropEvery < 1 || !(p.DropFactor > 0 && p.DropFactor <= 1)):
		return Schedule{}, fmt.Errorf("train: step schedule: factor %v every %d rounds: want a factor in (0, 1] every 1 "+
			"round or more", p.DropFactor, p.DropEvery)
	}
	s := Schedule{plan: p}
	if p.Name == "constant" {
		s.fixed = roundDown(p.StepSize)
	}
	return s, nil
}

// At returns α_k in float64, for the rules of theta; k ≥ 0.
func (s Schedule) At(k int) float64 {
	p := s.plan
	if k < p.Warmup {
		return p.StepSize * float64(k+1) / float64(p.Warmup)
	}
	t, all := k-p.Warmup, p.Rounds-p.Warmup
	falls := p.Name == "cosine" || p.Name == "linear"
	switch {
	case falls && t >= all:
		return 0
	case p.Name == "cosine":
		return p.StepSize / 2 * (1 + math.Cos(math.Pi*float64(t)/float64(all)))
	case p.Name == "linear":
		return p.StepSize * (1 - float64(t)/float64(all))
	case p.Name == "step":
		return p.StepSize * power(p.DropFactor, t/p.DropEvery)
	}
	return p.StepSize
}

// StepSize returns α_k as it is applied: rounded down, so that it never exceeds the value that the rules of theta used.
// As a method value it is an algos.StepSize.
func (s *Schedule) StepSize(k int) float32 {
	if s.fixed > 0 && k >= s.plan.Warmup {
		return s.fixed
	}
	return roundDown(s.At(k))
}
