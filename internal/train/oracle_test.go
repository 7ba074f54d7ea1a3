package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/rng"
	"gossiptrainer/model"
	"gossiptrainer/model/sample"
)

var _ algos.StepSize = new(Schedule).StepSize

// fixed is an objective whose gradient and loss are given.
type fixed struct {
	model.Objective
	gradient []float32
	loss     float32
}

func (f fixed) Dim() int { return len(f.gradient) }
func (f fixed) Gradient(g, _ []float32, _ sample.Batch) float32 {
	copy(g, f.gradient)
	return f.loss
}

func newOracle(t *testing.T, f model.Objective, batches Batches, r Rule) *Oracle {
	t.Helper()
	o, err := NewOracle(3, f, batches, r)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// mlp returns a small network and batches drawn by address.
func mlp(t testing.TB) (model.Model, Batches) {
	t.Helper()
	m, err := model.New(model.Spec{
		Name: "mlp", Shape: sample.Shape{H: 4, W: 4, C: 1}, Classes: 3, Batch: 8, Hidden: []int{10},
	})
	if err != nil {
		t.Fatal(err)
	}
	batch := sample.Batch{X: make([]float32, 8*16), Y: make([]int32, 8)}
	return m, func(k int) sample.Batch {
		key := rng.At(rng.Stream(1, 3), k)
		for i := range batch.Y {
			batch.Y[i] = int32(key.Raw(uint32(i)) % 3)
		}
		for i := range batch.X {
			batch.X[i] = key.Uniform(uint32(100 + i))
		}
		return batch
	}
}

func TestRuleAgainstFloat64(t *testing.T) {
	tests := map[string]Rule{
		"nothing":            {},
		"decay":              {WeightDecay: 0.01},
		"momentum":           {Momentum: 0.9},
		"momentum and decay": {Momentum: 0.9, WeightDecay: 5e-4},
		"and a bound":        {Momentum: 0.9, WeightDecay: 5e-4, Bound: 0.5},
		"bound alone":        {Bound: 0.05},
	}
	for name, r := range tests {
		t.Run(name, func(t *testing.T) {
			f, err := model.New(model.Spec{Name: "quadratic", Dim: 23, Spread: 1, Worker: 3})
			if err != nil {
				t.Fatal(err)
			}
			o := newOracle(t, f, NoData, r)
			x, g, pure := make([]float32, 23), make([]float32, 23), make([]float32, 23)
			f.Init(x, 1)
			m := make([]float64, 23)
			for k := range 50 {
				f.Gradient(pure, x, sample.Batch{})
				if _, err := o.Gradient(g, k, x); err != nil {
					t.Fatal(err)
				}
				clipped := 0
				for i := range m {
					m[i] = r.Momentum*m[i] + float64(pure[i]) + r.WeightDecay*float64(x[i])
					want := m[i]
					if r.Bound > 0 && math.Abs(want) > r.Bound {
						want = math.Copysign(r.Bound, want)
						clipped++
					}
					if math.Abs(float64(g[i])-want) > 2e-5*max(1, math.Abs(want)) {
						t.Fatalf("round %d: direction[%d] = %v, want %v", k, i, g[i], want)
					}
					if r.Bound > 0 && math.Abs(float64(g[i])) > r.Bound {
						t.Fatalf("round %d: direction[%d] = %v exceeds the bound %v", k, i, g[i], r.Bound)
					}
					x[i] -= float32(0.1 * g[i])
				}
				if got := o.clipped; got != clipped {
					t.Fatalf("round %d: %d coordinates clipped, want %d", k, got, clipped)
				}
			}
		})
	}
}

// Where a gradient stays 0, the moments become 0 and never subnormal.
func TestMomentsOfDeadUnitsEnd(t *testing.T) {
	const dim, rounds = 40, 3000
	for name, r := range map[string]Rule{
		"sgd":   {Momentum: 0.9},
		"adamw": {Kind: AdamW, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8},
	} {
		o, err := NewOptimizer(r, dim)
		if err != nil {
			t.Fatal(err)
		}
		g, x := make([]float32, dim), make([]float32, dim)
		for i := range g {
			g[i] = float32(i-dim/2) * 1e-3
		}
		for k := range rounds {
			o.Direct(g, x)
			m, v := o.Moments()
			for i, a := range slices.Concat(m, v) {
				if a != 0 && math.Abs(float64(a)) < 0x1p-126 {
					t.Fatalf("%s: round %d: moment %d is %v, below the smallest normal number", name, k, i, a)
				}
				if k == rounds-1 && a != 0 {
					t.Errorf("%s: moment %d is %v after %d gradients of 0", name, i, a, rounds-1)
				}
			}
			clear(g)
		}
	}
}

// The machine uses g as scratch, which must not change the momentum.
func TestDirectionMayBeOverwritten(t *testing.T) {
	f := fixed{gradient: []float32{1, -2}}
	o := newOracle(t, f, NoData, Rule{Momentum: 0.5})
	g := make([]float32, 2)
	for k, want := range [][]float32{{1, -2}, {1.5, -3}, {1.75, -3.5}} {
		if _, err := o.Gradient(g, k, g); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(g, want) {
			t.Errorf("round %d: %v, want %v", k, g, want)
		}
		g[0], g[1] = 77, 78
	}
}

func TestDirectionIsAFunctionOfTheRound(t *testing.T) {
	m, batches := mlp(t)
	o := newOracle(t, m, batches, Rule{WeightDecay: 1e-3, Bound: 0.1})
	x := make([]float32, m.Dim())
	m.Init(x, 1)
	directions := make([][]float32, 6)
	losses := make([]float32, 6)
	for k := range directions {
		directions[k] = make([]float32, len(x))
		losses[k], _ = o.Gradient(directions[k], k, x)
	}
	m2, batches2 := mlp(t)
	fresh := newOracle(t, m2, batches2, Rule{WeightDecay: 1e-3, Bound: 0.1})
	g := make([]float32, len(x))
	for _, k := range []int{4, 0, 4, 5, 2, 1, 3} {
		loss, err := fresh.Gradient(g, k, x)
		if err != nil {
			t.Fatal(err)
		}
		if loss != losses[k] || record.Digest(g) != record.Digest(directions[k]) {
			t.Errorf("round %d gives other bits after other rounds were asked for", k)
		}
	}
	if record.Digest(directions[0]) == record.Digest(directions[1]) {
		t.Error("rounds 0 and 1 give the same direction")
	}
}

func TestDivergenceNamesWorkerAndRound(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	tests := map[string]fixed{
		"loss is NaN":      {gradient: []float32{0}, loss: nan},
		"loss is infinite": {gradient: []float32{0}, loss: inf},
		"gradient is NaN":  {gradient: []float32{0, nan}},
		"gradient is Inf":  {gradient: []float32{0, -inf, 0}},
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) {
			o := newOracle(t, f, NoData, Rule{Bound: 1})
			_, err := o.Gradient(make([]float32, len(f.gradient)), 17, make([]float32, len(f.gradient)))
			if !errors.Is(err, ErrDiverged) {
				t.Fatalf("error %v does not wrap ErrDiverged", err)
			}
			if got := err.Error(); !strings.Contains(got, "worker 3: round 17") {
				t.Errorf("%q does not name worker 3 and round 17", got)
			}
		})
	}
}

func TestAModelBeyondAllBoundsHasDiverged(t *testing.T) {
	o := newOracle(t, fixed{gradient: []float32{0, 0}}, NoData, Rule{})
	for x, diverged := range map[float32]bool{0.9e15: false, -1.1e15: true, float32(math.NaN()): true,
		float32(math.Inf(-1)): true} {
		if _, err := o.Gradient(make([]float32, 2), 5, []float32{1, x}); errors.Is(err, ErrDiverged) != diverged {
			t.Errorf("x = %v: error %v, want diverged: %v", x, err, diverged)
		}
	}
}

// Divergence is measured against the first loss: a problem of large numbers has not diverged.
func TestALossBeyondAllBoundsHasDiverged(t *testing.T) {
	tests := []struct {
		name     string
		losses   []float32
		diverged bool
	}{
		{"grown ten thousandfold", []float32{2, 1, 21000}, true},
		{"grown a hundredfold", []float32{2, 1, 200}, false},
		{"from nothing", []float32{0, 9000}, false},
		{"from nothing to much", []float32{0, 11000}, true},
		{"large from the start", []float32{1e9, 5e9}, false},
		{"of minus infinity", []float32{1, float32(math.Inf(-1))}, true},
		{"NaN from the start", []float32{float32(math.NaN())}, true},
	}
	for _, test := range tests {
		f := &fixed{gradient: []float32{0}}
		o := newOracle(t, f, NoData, Rule{})
		var err error
		for k, loss := range test.losses {
			f.loss = loss
			_, err = o.Gradient(make([]float32, 1), k, make([]float32, 1))
		}
		if errors.Is(err, ErrDiverged) != test.diverged {
			t.Errorf("a loss %s: error %v, want diverged: %v", test.name, err, test.diverged)
		}
	}
}

func TestRulesOutOfRange(t *testing.T) {
	nan := math.NaN()
	for _, r := range []Rule{
		{Kind: AdamW, Eps: 1e-60}, {Momentum: 1}, {Momentum: -0.1}, {Momentum: nan}, {WeightDecay: -1}, {WeightDecay: nan},
		{WeightDecay: math.Inf(1)}, {Bound: -1}, {Bound: nan}, {Bound: math.Inf(1)},
	} {
		if _, err := NewOracle(0, fixed{}, NoData, r); err == nil {
			t.Errorf("%+v was accepted", r)
		}
	}
}

func TestOracleAllocatesNothing(t *testing.T) {
	m, batches := mlp(t)
	for _, rule := range []Rule{
		{Momentum: 0.9, WeightDecay: 1e-3, Bound: 1},
		{Kind: AdamW, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, ClipNorm: 1},
		{Kind: Lion, Beta1: 0.9, Beta2: 0.99},
	} {
		o := newOracle(t, m, batches, rule)
		x, g := make([]float32, m.Dim()), make([]float32, m.Dim())
		m.Init(x, 1)
		if n := testing.AllocsPerRun(20, func() {
			if _, err := o.Gradient(g, 1, x); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations per round, want 0", rule.Kind, n)
		}
	}
}

func TestSchedules(t *testing.T) {
	tests := []struct {
		name   string
		rounds int
		k      int
		want   float64
	}{
		{"constant", 0, 0, 0.3},
		{"constant", 10, 1000, 0.3},
		{"cosine", 10, 0, 0.3},
		{"cosine", 10, 5, 0.15},
		{"cosine", 9, 3, 0.225},
		{"cosine", 10, 10, 0},
		{"cosine", 10, 11, 0},
		{"linear", 10, 0, 0.3},
		{"linear", 10, 4, 0.18},
		{"linear", 10, 12, 0},
		{"step", 10, 2, 0.3},
		{"step", 10, 3, 0.15},
		{"step", 10, 6, 0.075},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s round %d of %d", tt.name, tt.k, tt.rounds), func(t *testing.T) {
			s, err := NewSchedule(StepPlan{Name: tt.name, StepSize: 0.3, Rounds: tt.rounds, DropEvery: 3, DropFactor: 0.5})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.At(tt.k); math.Abs(got-tt.want) > 1e-15 {
				t.Errorf("At = %v, want %v", got, tt.want)
			}
			a := s.StepSize(tt.k)
			if float64(a) > s.At(tt.k) || math.Abs(float64(a)-tt.want) > 1e-7*tt.want {
				t.Errorf("StepSize = %v, want just below %v", a, tt.want)
			}
		})
	}
}

func TestSchedulesNeverIncreaseAfterTheirWarmup(t *testing.T) {
	for _, name := range schedules() {
		for _, warmup := range []int{0, 1, 40} {
			s, err := NewSchedule(StepPlan{Name: name, StepSize: 0.1, Rounds: 333, Warmup: warmup, DropEvery: 50,
				DropFactor: 0.1})
			if err != nil {
				t.Fatal(err)
			}
			for k := range 400 {
				switch grows := s.At(k+1) > s.At(k); {
				case k+1 < warmup && !grows, k+1 >= warmup && (grows || s.StepSize(k+1) > s.StepSize(k)):
					t.Fatalf("%s after %d rounds: step %v in round %d, then %v", name, warmup, s.At(k), k, s.At(k+1))
				case k < 333 && !(s.StepSize(k) > 0):
					t.Fatalf("%s after %d rounds: step %v in round %d", name, warmup, s.StepSize(k), k)
				}
			}
			if largest := s.At(max(0, warmup-1)); largest != 0.1 {
				t.Errorf("%s after %d rounds: the largest step is %v, want 0.1", name, warmup, largest)
			}
		}
	}
}

func TestSchedulesOutOfRange(t *testing.T) {
	for _, a := range []float64{0, -1, math.NaN(), math.Inf(1), 1e39} {
		if _, err := NewSchedule(StepPlan{Name: "constant", StepSize: a, Rounds: 1}); err == nil {
			t.Errorf("step size %v was accepted", a)
		}
	}
	for what, p := range map[string]StepPlan{
		"a cosine over no rounds":      {Name: "cosine"},
		"an unknown schedule":          {Name: "polynomial", Rounds: 1},
		"a warm-up of all rounds":      {Name: "linear", Rounds: 5, Warmup: 5},
		"a negative warm-up":           {Name: "constant", Rounds: 5, Warmup: -1},
		"drops every 0 rounds":         {Name: "step", Rounds: 5, DropFactor: 0.1},
		"drops by 0":                   {Name: "step", Rounds: 5, DropEvery: 2},
		"drops that raise a step size": {Name: "step", Rounds: 5, DropEvery: 2, DropFactor: 2},
	} {
		p.StepSize = 1
		if _, err := NewSchedule(p); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
}

// The oracle of a program has the checks of every other, but takes its directions as they are.
func TestExternalOracle(t *testing.T) {
	told := errors.New("the program has ended")
	loss := float32(math.NaN())
	var err error
	o, refused := NewExternal(3, func(g []float32, k int, x []float32) (float32, error) {
		for c := range g {
			g[c] = x[c] * float32(k)
		}
		return loss, err
	}, Rule{Bound: 2, Exact: 1})
	if refused != nil {
		t.Fatal(refused)
	}
	g, x := make([]float32, 3), []float32{1, -1, 4}
	for k := range 4 { // no loss is known
		if _, err := o.Gradient(g, k, x); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(g, []float32{2, -2, 12}) || o.clipped != 2 {
		t.Errorf("direction %v with %d clipped", g, o.clipped)
	}
	if loss = 5e5; o.judged(t, g, x) != nil {
		t.Error("the first loss sets the scale")
	}
	if loss = 0; o.judged(t, g, x) != nil {
		t.Error("a loss of 0 is one")
	}
	if loss = float32(math.NaN()); o.judged(t, g, x) != nil {
		t.Error("NaN is no loss")
	}
	if loss = 6e9; !errors.Is(o.judged(t, g, x), ErrDiverged) {
		t.Error("a loss of 12000 times the first one is accepted")
	}
	if loss, err = 1, told; o.judged(t, g, x) != told {
		t.Error("an error of the program is hidden")
	}
	err = nil
	if x[0] = 2e15; !errors.Is(o.judged(t, g, x), ErrDiverged) {
		t.Error("a parameter of 2e15 is accepted")
	}
	for _, r := range []Rule{{Momentum: 0.9}, {WeightDecay: 0.1}, {Bound: -1}} {
		if _, err := NewExternal(0, nil, r); err == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
}

func (o *Oracle) judged(t *testing.T, g, x []float32) error {
	t.Helper()
	_, err := o.Gradient(g, 5, x)
	return err
}

// The mean over workers of weighted losses is the objective that their weighted gradients descend.
func TestALossHasTheWeightOfItsWorker(t *testing.T) {
	for weight, want := range map[float64]float32{0: 2, 1: 2, 0.25: 0.5} {
		o := newOracle(t, fixed{gradient: []float32{1, 2}, loss: 2}, NoData, Rule{Weight: weight})
		if loss, err := o.Gradient(make([]float32, 2), 0, make([]float32, 2)); err != nil || loss != want {
			t.Errorf("weight %v: loss %v, error %v, want %v", weight, loss, err, want)
		}
	}
}
