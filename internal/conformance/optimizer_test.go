package conformance

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gossiptrainer/internal/train"
)

// An optimizerSpec is the form of an optimizer in vector files.
type optimizerSpec struct {
	Name              train.Kind
	Beta1, Beta2, Eps float64
	Decay             float64 // decoupled
}

// rule returns the rule of the optimizer, with momentum and coupled decay for sgd. The zero optimizer is sgd.
func (o optimizerSpec) rule(momentum, decay float64) train.Rule {
	return train.Rule{
		Kind: o.Name, Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps, Momentum: momentum, WeightDecay: decay + o.Decay,
	}
}

func TestConformanceOptimizer(t *testing.T) {
	var file struct {
		Cases []struct {
			Label       string
			Optimizer   optimizerSpec
			Momentum    float64
			WeightDecay float64 `json:"weight_decay"`
			X0          []float64
			StepSize    perRound `json:"step_size"`
			Steps       []struct {
				Step                      int
				Gradient, Direction, X, M []float64
				V                         []float64
			}
			Largest   float64 `json:"largest_direction_without_decay"`
			Tolerance struct{ Float32 float64 }
		}
	}
	Load2(t, "optimizer.json", &file)
	if len(file.Cases) == 0 {
		t.Fatal("optimizer.json: no cases")
	}
	for _, c := range file.Cases {
		t.Run(c.Label, func(t *testing.T) {
			rule := c.Optimizer.rule(c.Momentum, c.WeightDecay)
			o, err := train.NewOptimizer(rule, len(c.X0))
			if err != nil {
				t.Fatal(err)
			}
			x, largest := narrowed(c.X0), 0.0
			for _, step := range c.Steps {
				p, before := narrowed(step.Gradient), slices.Clone(x)
				o.Direct(p, x)
				m, v := o.Moments()
				alpha := c.StepSize.at(step.Step)
				for i := range x {
					largest = max(largest, math.Abs(float64(p[i])-c.Optimizer.Decay*float64(before[i])))
					x[i] -= float32(float32(alpha) * p[i])
				}
				what := fmt.Sprintf("step %d ", step.Step)
				allNear(t, what+"direction", p, step.Direction, c.Tolerance.Float32)
				allNear(t, what+"model", x, step.X, c.Tolerance.Float32)
				allNear(t, what+"m", orZero(m, len(x)), step.M, c.Tolerance.Float32)
				allNear(t, what+"v", orZero(v, len(x)), step.V, c.Tolerance.Float32)
			}
			near(t, "largest direction without decay", largest, c.Largest, c.Tolerance.Float32)
			if bound := rule.DirectionBound(); bound > 0 && largest > bound*(1+1e-6) {
				t.Errorf("a direction of %v is beyond its bound, %v", largest, bound)
			}
		})
	}
}

// allNear compares the coordinates of a vector with the reference.
func allNear(t *testing.T, what string, got []float32, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d coordinates, want %d", what, len(got), len(want))
		return
	}
	for i, v := range want {
		near(t, fmt.Sprintf("%s[%d]", what, i), float64(got[i]), v, tolerance)
	}
}

// orZero returns x, or n zeros in place of a vector that the optimizer does not have.
func orZero(x []float32, n int) []float32 {
	if x == nil {
		return make([]float32, n)
	}
	return x
}

func TestConformanceDirectionBound(t *testing.T) {
	var file struct {
		Bounds []struct {
			Beta1, Beta2, C float64
			Exists          bool
		} `json:"adamw_bound"`
	}
	Load2(t, "theta2.json", &file)
	if len(file.Bounds) == 0 {
		t.Fatal("theta2.json: no bounds of AdamW")
	}
	for _, b := range file.Bounds {
		c := train.Rule{Kind: train.AdamW, Beta1: b.Beta1, Beta2: b.Beta2, Eps: 1e-8}.DirectionBound()
		if (c > 0) != b.Exists {
			t.Errorf("beta1 %v, beta2 %v: bound %v, want one: %v", b.Beta1, b.Beta2, c, b.Exists)
		}
		near(t, fmt.Sprintf("bound of beta1 %v, beta2 %v", b.Beta1, b.Beta2), c, b.C, 1e-9)
	}
}
