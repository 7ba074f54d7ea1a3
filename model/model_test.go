package model

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/rng"
	"gossiptrainer/model/sample"
)

// random fills x with uniform numbers of [−1, 1), a function of round alone.
func random(x []float32, round int) []float32 {
	key := rng.At(99, round)
	for i := range x {
		x[i] = 2*key.Uniform(uint32(i)) - 1
	}
	return x
}

// randomBatch makes n samples whose label shows in the mean of their features.
func randomBatch(s Spec, n, round int) sample.Batch {
	b := sample.Batch{X: random(make([]float32, n*s.Shape.Features()), round), Y: make([]int32, n)}
	key := rng.At(98, round)
	for i := range b.Y {
		b.Y[i] = int32(key.Raw(uint32(i)) % uint32(s.Classes))
		x := b.X[i*s.Shape.Features() : (i+1)*s.Shape.Features()]
		for j := range x {
			if j%s.Classes == int(b.Y[i]) {
				x[j]++
			}
		}
	}
	return b
}

// newModel builds a model or fails the test.
func newModel(t testing.TB, s Spec) Model {
	t.Helper()
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var update = flag.Bool("update", false, "write testdata/init.txt")

// small holds specifications of the networks, small enough for finite differences: those of the list and, of each other
// row but the two large ones, one with usual settings.
var small = everyNetwork(map[string]Spec{
	"logistic": {Name: "logistic", Shape: sample.Shape{H: 3, W: 2, C: 2}, Classes: 2, Batch: 5},
	"mlp":      {Name: "mlp", Shape: sample.Shape{H: 1, W: 1, C: 7}, Classes: 3, Batch: 5, Hidden: []int{9, 6}},
	"lenet":    {Name: "lenet", Shape: sample.Shape{H: 12, W: 16, C: 1}, Classes: 10, Batch: 4},
	"resnet, group norm": {Name: "resnet", Shape: sample.Shape{H: 8, W: 10, C: 3}, Classes: 4, Batch: 4, Depth: 8,
		Norm: "group"},
	"resnet, batch norm": {Name: "resnet", Shape: sample.Shape{H: 9, W: 9, C: 1}, Classes: 4, Batch: 4, Depth: 8,
		Norm: "batch"},
})

func everyNetwork(specs map[string]Spec) map[string]Spec {
	known := []string{"vgg11", "vgg16"} // see narrowVGG
	for _, s := range specs {
		known = append(known, s.Name)
	}
	for _, k := range Kinds() {
		if k.Samples && !slices.Contains(known, k.Name) {
			specs[k.Name] = Spec{Name: k.Name, Shape: sample.Shape{H: 12, W: 12, C: 1}, Classes: 3, Batch: 4,
				Hidden: []int{9, 6}, Depth: 8, Norm: "group"}
		}
	}
	return specs
}

// narrowVGGSpec is what narrowVGG is made for.
var narrowVGGSpec = Spec{Name: "vgg16", Shape: sample.Shape{H: 32, W: 32, C: 3}, Classes: 4, Batch: 4, Norm: "group"}

// narrowVGG makes VGG-16 with an eighth of the channels.
func narrowVGG(t *testing.T) *net {
	t.Helper()
	b := &builder{tier: kernel.Best(), batch: narrowVGGSpec.Batch}
	logits, err := vgg(b, narrowVGGSpec, []int{8, 16, 32, 64, 64})
	if err != nil {
		t.Fatal(err)
	}
	return b.net(logits)
}

// narrowVGG11 makes VGG-11 with an eighth of the channels.
func narrowVGG11(t *testing.T) *net {
	t.Helper()
	b := &builder{tier: kernel.Best(), batch: narrowVGGSpec.Batch}
	logits, err := vgg11(b, narrowVGGSpec, []int{8, 16, 32, 64, 64}, 64)
	if err != nil {
		t.Fatal(err)
	}
	return b.net(logits)
}

// networkLoss returns the mean loss in training mode without rounding it to
// float32.
func networkLoss(m *net, x []float32, batch sample.Batch) float64 {
	m.forward(x, batch, training)
	loss, _ := crossEntropy(m.logits.value.images(batch.Len()), batch.Y)
	return loss / float64(batch.Len())
}

// The test moves each parameter tensor along its own gradient v. The loss must change by
// 2h|v|² over x ± h·v. A step of that size crosses the kinks of a few ReLUs and pools, and
// float32 rounds the loss to about 1e-7 of itself. With h chosen so that the loss changes by
// 3e-4, both errors stay below two per cent.
func TestGradientsOfNetworks(t *testing.T) {
	nets := map[string]*net{"vgg": narrowVGG(t), "vgg11": narrowVGG11(t)}
	for name, spec := range small {
		nets[name] = newModel(t, spec).(*net)
	}
	for name, m := range nets {
		t.Run(name, func(t *testing.T) {
			spec, ok := small[name]
			if !ok {
				spec = narrowVGGSpec
			}
			x, g := make([]float32, m.Dim()), make([]float32, m.Dim())
			m.Init(x, 5)
			for i, v := range random(make([]float32, len(x)), 1) {
				x[i] += 0.1 * v // biases and gammas away from their special values
			}
			batch := randomBatch(spec, spec.Batch, 2)
			m.Gradient(g, x, batch)
			for _, p := range m.Layout() {
				v := append([]float32(nil), p.of(g)...)
				norm2 := 0.0
				for _, c := range v {
					norm2 += float64(c) * float64(c)
				}
				if norm2 == 0 {
					t.Errorf("%s: zero gradient", p.Name)
					continue
				}
				change, tolerance := 3e-4, 0.02
				if name == "vgg" { // it has more kinks
					change, tolerance = 3e-5, 0.03
				}
				h := change / norm2
				move := func(h float64) float64 {
					y := append([]float32(nil), x...)
					for i := range v {
						p.of(y)[i] += float32(h * float64(v[i]))
					}
					return networkLoss(m, y, batch)
				}
				if got := (move(h) - move(-h)) / (2 * change); math.Abs(got-1) > tolerance {
					t.Errorf("%s: the loss changes by %.4f of what the gradient says", p.Name, got)
				}
			}
		})
	}
}

func TestQuadraticGradient(t *testing.T) {
	q := newModel(t, Spec{Name: "quadratic", Dim: 9, Spread: 2, Seed: 3, Worker: 1})
	x, g := make([]float32, 9), make([]float32, 9)
	q.Init(x, 1)
	loss := q.Gradient(g, x, sample.Batch{})
	if want := q.Evaluate(x, sample.Batch{}); float64(loss) != float64(float32(want.Loss)) || !math.IsNaN(want.Accuracy) {
		t.Errorf("loss %v, score %+v", loss, want)
	}
	for i := range x {
		const h = 1.0 / 64 // central differences of a quadratic are exact
		y := append([]float32(nil), x...)
		y[i] = x[i] + h
		up := q.Evaluate(y, sample.Batch{}).Loss
		y[i] = x[i] - h
		down := q.Evaluate(y, sample.Batch{}).Loss
		if want := (up - down) / (2 * h); math.Abs(float64(g[i])-want) > 1e-5 {
			t.Errorf("gradient[%d] = %v, want %v", i, g[i], want)
		}
	}
}

func TestQuadraticsDifferByAtMostTheSpread(t *testing.T) {
	const dim = 200
	centre := newModel(t, Spec{Name: "quadratic", Dim: dim, Seed: 3}).(*quadratic)
	for worker := range 4 {
		q := newModel(t, Spec{Name: "quadratic", Dim: dim, Seed: 3, Worker: worker, Spread: 0.5}).(*quadratic)
		largest := 0.0
		for c := range dim {
			if q.curvature[c] != centre.curvature[c] {
				t.Fatalf("worker %d has a curvature of its own", worker)
			}
			largest = max(largest, math.Abs(float64(q.optimum[c])-float64(centre.optimum[c])))
		}
		if largest > 0.5000001 || largest < 0.45 {
			t.Errorf("worker %d: largest distance to the centre %v, want just below 0.5", worker, largest)
		}
	}
}

func TestNumberOfParameters(t *testing.T) {
	want := map[string]int{
		"logistic 28x28x1":        784*10 + 10,
		"mlp 784-128-10":          784*128 + 128 + 128*10 + 10,
		"lenet 28x28x1":           61706,
		"resnet20 group 32x32x3":  269722,
		"resnet20 batch 32x32x3":  269722,
		"resnet110 batch 32x32x3": 1727962,
		"vgg11 32x32x3":           9750922,
		"vgg16 batch 32x32x3":     14724042,
	}
	for _, f := range full {
		f.spec.Batch = 1
		if got := newModel(t, f.spec).Dim(); got != want[f.name] {
			t.Errorf("%s: %d parameters, want %d", f.name, got, want[f.name])
		}
	}
}

func TestLayoutFillsTheVector(t *testing.T) {
	specs := map[string]Spec{"quadratic": {Name: "quadratic", Dim: 4}}
	for name, s := range small {
		specs[name] = s
	}
	for name, spec := range specs {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, spec)
			end, names := 0, map[string]bool{}
			for _, p := range m.Layout() {
				if p.Off != end || p.Len() < 1 || names[p.Name] {
					t.Errorf("%+v: begins at %d, want %d; name used before: %v", p, p.Off, end, names[p.Name])
				}
				end += p.Len()
				names[p.Name] = true
			}
			if end != m.Dim() {
				t.Errorf("parameters end at %d, Dim is %d", end, m.Dim())
			}
		})
	}
}

func TestInitIsAFunctionOfTheSeed(t *testing.T) {
	for name, spec := range small {
		t.Run(name, func(t *testing.T) {
			a, other := newModel(t, spec), newModel(t, spec)
			x, y, z := make([]float32, a.Dim()), make([]float32, a.Dim()), make([]float32, a.Dim())
			a.Init(x, 1)
			a.Gradient(z, x, randomBatch(spec, 1, 1))
			a.Init(x, 1)
			other.Init(y, 1)
			other.Init(z, 2)
			if !slices.Equal(x, y) {
				t.Error("the same seed gives different points")
			}
			if name != "logistic" && slices.Equal(x, z) {
				t.Error("two seeds give the same point")
			}
		})
	}
}

// Layers below a ReLU have the variance of He et al. 2015, the last layer that of ±1/√fan-in, biases are 0, and
// normalizations change nothing.
func TestStartsAreThoseOfTheLiterature(t *testing.T) {
	image := sample.Shape{H: 32, W: 32, C: 3}
	for name, test := range map[string]struct {
		spec Spec
		last string
		fan  int // of the last layer
	}{
		"logistic": {Spec{Name: "logistic", Shape: image}, "", 0},
		"mlp":      {Spec{Name: "mlp", Shape: image, Hidden: []int{400, 200}}, "dense3.weight", 200},
		"lenet":    {Spec{Name: "lenet", Shape: image}, "dense3.weight", 84},
		"resnet":   {Spec{Name: "resnet", Shape: image, Depth: 20, Norm: "batch"}, "dense.weight", 64},
		"vgg11":    {Spec{Name: "vgg11", Shape: image}, "dense3.weight", 512},
		"vgg16":    {Spec{Name: "vgg16", Shape: image, Norm: "group"}, "dense.weight", 512},
	} {
		test.spec.Batch, test.spec.Classes = 1, 100
		m := newModel(t, test.spec)
		x := make([]float32, m.Dim())
		m.Init(x, 1)
		for _, p := range m.Layout() {
			mean, square, most, n := 0.0, 0.0, 0.0, float64(p.Len())
			for _, v := range p.of(x) {
				mean += float64(v) / n
				square += float64(v) * float64(v) / n
				most = max(most, math.Abs(float64(v)))
			}
			centre, variance := 0.0, 0.0
			fan := p.Len() / p.Shape[len(p.Shape)-1]
			switch {
			case p.Name == test.last && fan == test.fan:
				variance = 1 / float64(3*fan)
			case strings.HasSuffix(p.Name, ".gamma"):
				centre = 1
			case strings.HasSuffix(p.Name, ".weight") && name != "logistic":
				variance = 2 / float64(fan)
			}
			// The mean square of n uniform numbers has the relative deviation sqrt(0.8/n).
			if want := variance + centre; math.Abs(square-want) > 6*math.Sqrt(0.8/n)*variance {
				t.Errorf("%s: %s: mean square %v, want %v", name, p.Name, square, want)
			}
			if math.Abs(mean-centre) > 6*math.Sqrt(variance/n) || most > centre+math.Sqrt(3*variance)+1e-6 {
				t.Errorf("%s: %s: mean %v, largest %v, want variance %v", name, p.Name, mean, most, variance)
			}
		}
	}
}

// A gradient does not depend on what the objective computed before, nor on
// the largest batch it was built for.
func TestGradientDependsOnItsArgumentsAlone(t *testing.T) {
	for name, spec := range small {
		t.Run(name, func(t *testing.T) {
			used := newModel(t, spec)
			x, g, h := make([]float32, used.Dim()), make([]float32, used.Dim()), make([]float32, used.Dim())
			used.Init(x, 1)
			used.Gradient(g, x, randomBatch(spec, spec.Batch, 1))
			used.Evaluate(g, randomBatch(spec, 3*spec.Batch, 2))
			batch := randomBatch(spec, 3, 3)
			a := used.Gradient(g, x, batch)
			spec.Batch = 3
			b := newModel(t, spec).Gradient(h, x, batch)
			if a != b || !slices.Equal(g, h) {
				t.Errorf("loss %v after other calls, %v before; gradients equal: %v", a, b, slices.Equal(g, h))
			}
		})
	}
}

func TestEvaluateTakesBatchesOfAnySize(t *testing.T) {
	for name, spec := range small {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, spec)
			x := make([]float32, m.Dim())
			m.Init(x, 1)
			random(x[:10], 1)
			all := randomBatch(spec, 3*spec.Batch+1, 1)
			got := m.Evaluate(x, all)
			loss, correct, f := 0.0, 0.0, spec.Shape.Features()
			for i := range all.Y {
				one := m.Evaluate(x, sample.Batch{X: all.X[i*f : (i+1)*f], Y: all.Y[i : i+1]})
				loss += one.Loss
				correct += one.Accuracy
			}
			n := float64(all.Len())
			if got.Samples != all.Len() || math.Abs(got.Loss-loss/n) > 1e-12 || math.Abs(got.Accuracy-correct/n) > 1e-12 {
				t.Errorf("at once %+v, one by one loss %v, accuracy %v", got, loss/n, correct/n)
			}
		})
	}
}

func TestCallsAllocateNothing(t *testing.T) {
	for name, spec := range small {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, spec)
			x, g := make([]float32, m.Dim()), make([]float32, m.Dim())
			m.Init(x, 1)
			batch, set := randomBatch(spec, spec.Batch, 1), randomBatch(spec, 2*spec.Batch+1, 2)
			if n := testing.AllocsPerRun(5, func() { m.Gradient(g, x, batch) }); n != 0 {
				t.Errorf("Gradient: %v allocations, want 0", n)
			}
			if n := testing.AllocsPerRun(5, func() { m.Evaluate(x, set) }); n != 0 {
				t.Errorf("Evaluate: %v allocations, want 0", n)
			}
		})
	}
}

func TestTrainingLowersTheLoss(t *testing.T) {
	for name, spec := range small {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, spec)
			x, g := make([]float32, m.Dim()), make([]float32, m.Dim())
			m.Init(x, 1)
			batch := randomBatch(spec, spec.Batch, 1)
			first := m.Gradient(g, x, batch)
			for range 60 {
				m.Gradient(g, x, batch)
				for i := range x {
					x[i] -= float32(0.1 * g[i])
				}
			}
			last := m.Gradient(g, x, batch)
			if !(last < first/3) {
				t.Errorf("loss %v after 60 steps on one batch, %v before", last, first)
			}
			if got := m.Evaluate(x, batch); got.Accuracy != 1 {
				t.Errorf("accuracy %v on the batch it was trained on", got.Accuracy)
			}
		})
	}
}

func TestSpecsThatCannotBeBuilt(t *testing.T) {
	image := sample.Shape{H: 32, W: 32, C: 3}
	ok := Spec{Shape: image, Classes: 10, Batch: 4}
	with := func(change func(s *Spec)) Spec {
		s := ok
		change(&s)
		return s
	}
	tests := map[string]struct {
		spec Spec
		want string // in the error
	}{
		"no name":             {ok, "unknown name"},
		"a misspelt name":     {with(func(s *Spec) { s.Name = "resnet20" }), "unknown name"},
		"no features":         {with(func(s *Spec) { s.Name, s.Shape.C = "logistic", 0 }), "shape 32x32x0"},
		"one class":           {with(func(s *Spec) { s.Name, s.Classes = "logistic", 1 }), "1 classes"},
		"an empty batch":      {with(func(s *Spec) { s.Name, s.Batch = "logistic", 0 }), "batch of 0"},
		"no hidden layer":     {with(func(s *Spec) { s.Name = "mlp" }), "no hidden widths"},
		"a hidden width of 0": {with(func(s *Spec) { s.Name, s.Hidden = "mlp", []int{3, 0} }), "hidden width 0 of layer 2"},
		"depth 21":            {with(func(s *Spec) { s.Name, s.Depth, s.Norm = "resnet", 21, "group" }), "6n+2"},
		"depth 2":             {with(func(s *Spec) { s.Name, s.Depth, s.Norm = "resnet", 2, "group" }), "6n+2"},
		"an unknown norm":     {with(func(s *Spec) { s.Name, s.Depth, s.Norm = "resnet", 20, "layer" }), "group or batch"},
		"resnet on features": {with(func(s *Spec) {
			s.Name, s.Depth, s.Norm, s.Shape = "resnet", 20, "group", sample.Shape{H: 1, W: 1, C: 123}
		}), "at least 8x8"},
		"lenet on 8x8": {with(func(s *Spec) { s.Name, s.Shape = "lenet", sample.Shape{H: 8, W: 8, C: 1} }),
			"multiples of 4"},
		"vgg16 on 28x28": {with(func(s *Spec) {
			s.Name, s.Norm, s.Shape = "vgg16", "batch",
				sample.Shape{H: 28, W: 28, C: 1}
		}), "multiples of 32"},
		"vgg16 without a norm": {with(func(s *Spec) { s.Name = "vgg16" }), "group or batch"},
		"lenet on 30x30": {with(func(s *Spec) { s.Name, s.Shape = "lenet", sample.Shape{H: 30, W: 30, C: 1} }),
			"multiples of 4"},
		"quadratic of 0":    {Spec{Name: "quadratic"}, "dimension 0"},
		"a negative spread": {Spec{Name: "quadratic", Dim: 1, Spread: -1}, "spread -1"},
		"a spread of NaN":   {Spec{Name: "quadratic", Dim: 1, Spread: math.NaN()}, "spread NaN"},
		"worker -1":         {Spec{Name: "quadratic", Dim: 1, Worker: -1}, "worker -1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := New(tt.spec); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// Peers of different versions and processors must start at the same x⁰. The file has its hash for seed 1, by row:
//
//	go test ./model -run InitIsPinned -update
func TestInitIsPinned(t *testing.T) {
	specs := maps.Clone(small)
	specs["quadratic"] = Spec{Name: "quadratic", Dim: 100}
	var made strings.Builder
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		m := newModel(t, specs[name])
		x := make([]float32, m.Dim())
		m.Init(x, 1)
		h := sha256.New()
		if err := binary.Write(h, binary.LittleEndian, x); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&made, "%s: %x\n", name, h.Sum(nil)[:8])
	}
	const file = "testdata/init.txt"
	if *update {
		if err := os.WriteFile(file, []byte(made.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != made.String() {
		t.Errorf("%v: models begin with\n%s%s has\n%s", err, made.String(), file, want)
	}
}
