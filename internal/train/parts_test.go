package train

import (
	"reflect"
	"slices"
	"testing"

	"gossiptrainer/model"
)

// Directions that are formed in the momentum, part by part, have the bits of directions in a vector of the caller.
func TestDirectionsInTheMomentum(t *testing.T) {
	for _, rule := range []Rule{
		{Momentum: 0.9}, {Momentum: 0.5, WeightDecay: 0.01, Kind: SGD}, {Momentum: 0.9, Weight: 2.5},
	} {
		m, batches := mlp(t)
		whole, inPlace := newOracle(t, m, batches, rule), newOracle(t, m, batches, rule)
		x, g, p := make([]float32, m.Dim()), make([]float32, m.Dim()), inPlace.Momentum()
		m.Init(x, 1)
		for k := range 20 {
			want, err := whole.Gradient(g, k, x)
			if err != nil {
				t.Fatal(err)
			}
			loss, err := inPlace.Gradient(p, k, x)
			if err != nil {
				t.Fatal(err)
			}
			if loss != want || !slices.Equal(p, g) {
				t.Fatalf("%+v: round %d: loss %v, want %v; directions are equal: %v", rule, k, loss, want, slices.Equal(p, g))
			}
			for i, v := range p {
				x[i] -= 0.1 * v
			}
		}
		if n := testing.AllocsPerRun(10, func() {
			if _, err := inPlace.Gradient(p, 1, x); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%+v: %v allocations per round, want 0", rule, n)
		}
	}
}

// Rules whose direction is not the momentum lend none.
func TestOtherDirectionsHaveNoMomentum(t *testing.T) {
	m, batches := mlp(t)
	for _, rule := range []Rule{
		{}, {Momentum: 0.9, Bound: 1}, {Momentum: 0.9, ClipNorm: 1}, {Kind: AdamW, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8},
		{Kind: Lion, Beta1: 0.9, Beta2: 0.99},
	} {
		if newOracle(t, m, batches, rule).Momentum() != nil {
			t.Errorf("%+v: the momentum counts as the direction", rule)
		}
	}
	q, err := model.New(model.Spec{Name: "quadratic", Dim: 23, Spread: 1})
	if err != nil {
		t.Fatal(err)
	}
	if newOracle(t, q, NoData, Rule{Momentum: 0.9}).Momentum() != nil {
		t.Error("an objective without parts lends its momentum")
	}
}

// A field of the rule that is not listed turns the shortcut off.
func TestOnlyKnownFieldsLeaveTheDirectionTheMomentum(t *testing.T) {
	known := map[string]bool{
		"Momentum": true, "WeightDecay": true, "Weight": true, "Exact": true, "Beta1": true, "Beta2": true, "Eps": true,
	}
	fields := reflect.TypeFor[Rule]()
	for i := range fields.NumField() {
		rule := Rule{Kind: SGD, Momentum: 0.5}
		switch field := reflect.ValueOf(&rule).Elem().Field(i); field.Kind() {
		case reflect.String:
			field.SetString("another")
		case reflect.Float64:
			field.SetFloat(0.25)
		case reflect.Int:
			field.SetInt(1)
		default:
			t.Fatalf("%s is of kind %v: set it here", fields.Field(i).Name, field.Kind())
		}
		if name := fields.Field(i).Name; rule.ComputesInPlace() != known[name] {
			t.Errorf("with %s: %v, want %v", name, rule.ComputesInPlace(), known[name])
		}
	}
	if (Rule{Kind: SGD}).ComputesInPlace() {
		t.Error("there is a momentum, want none")
	}
}
