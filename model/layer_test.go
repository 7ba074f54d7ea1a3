package model

import (
	"fmt"
	"math"
	"testing"

	"gossiptrainer/internal/kernel"
)

// eachTier runs a test with the kernels of every tier of this machine.
func eachTier(t *testing.T, test func(t *testing.T, tier kernel.Tier)) {
	for _, tier := range kernel.Available() {
		t.Run(tier.String(), func(t *testing.T) { test(t, tier) })
	}
}

// A bench is a chain of layers with parameters and an input of its own, under
// the loss Σ r·output with fixed random r.
type bench struct {
	n         int
	in, out   node
	layers    []layer
	input     []float32 // in.value before a forward pass, which layers in place change
	x, g      []float32
	direction *tensor // r
}

// newBench builds n images h×w×c with a border, and layers on top. Inputs that
// share a pooling window are at least 0.01 apart and none is within 0.005 of
// zero, so that no finite difference crosses a kink.
func newBench(tier kernel.Tier, n, h, w, c, border int, build func(b *builder, in node) node) *bench {
	b := &builder{tier: tier, batch: n}
	in := b.node(dims{h, w, c, border})
	k := 0
	for i := range n * h {
		row := in.value.row(i/h, i%h)
		for j := range row {
			row[j] = (float32(k*37%101) - 50.5) / 50
			k++
		}
	}
	l := &bench{n: n, in: in, out: build(b, in), layers: b.layers}
	l.input = append(l.input, in.value.v...)
	l.x, l.g = random(make([]float32, b.dim), 1), make([]float32, b.dim)
	l.direction = newTensor(n, l.out.value.dims)
	random(l.direction.v, 2)
	return l
}

// loss runs the layers forward.
func (l *bench) loss() (sum float64) {
	copy(l.in.value.v, l.input)
	for _, part := range l.layers {
		part.forward(l.x, l.n, training)
	}
	for i := range l.n * l.out.value.h {
		y, r := l.out.value.row(i/l.out.value.h, i%l.out.value.h), l.direction.row(i/l.out.value.h, i%l.out.value.h)
		for j := range y {
			sum += float64(y[j]) * float64(r[j])
		}
	}
	return sum
}

// gradient runs the layers forward and backward, with NaN wherever a layer
// must overwrite.
func (l *bench) gradient() {
	l.loss()
	nan := float32(math.NaN())
	fill(l.g, nan)
	for i := range l.n * l.in.grad.h {
		fill(l.in.grad.row(i/l.in.grad.h, i%l.in.grad.h), nan)
	}
	for i := range l.n * l.out.value.h {
		copy(l.out.grad.row(i/l.out.value.h, i%l.out.value.h), l.direction.row(i/l.out.value.h, i%l.out.value.h))
	}
	for i := len(l.layers) - 1; i >= 0; i-- {
		l.layers[i].backward(&gradients{whole: l.g}, l.x, l.n)
	}
}

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

// check compares every derivative with its central difference with step 2⁻⁸. That is exact
// for linear layers. For the others it is wrong by about 1e-5 of the third derivative. The
// rounding of outputs of order one to float32 adds about 1e-7/2⁻⁸ = 3e-5 each.
func (l *bench) check(t *testing.T) {
	t.Helper()
	const h, tolerance = 1.0 / 256, 2e-3
	l.gradient()
	compare := func(what string, at *float32, got float32) {
		t.Helper()
		before := *at
		*at = before + h
		up := l.loss()
		*at = before - h
		down := l.loss()
		*at = before
		want := (up - down) / (2 * h)
		if !(math.Abs(float64(got)-want) <= tolerance*max(1, math.Abs(want))) {
			t.Errorf("%s: gradient %v, finite difference %v", what, got, want)
		}
	}
	for i := range l.x {
		compare(fmt.Sprintf("parameter %d", i), &l.x[i], l.g[i])
	}
	v := l.in.value
	for i := range l.n * v.h {
		first := v.at(i/v.h, i%v.h, 0)
		grad := append([]float32(nil), l.in.grad.row(i/v.h, i%v.h)...)
		for j, d := range grad {
			compare(fmt.Sprintf("input row %d value %d", i, j), &l.input[first+j], d)
		}
	}
}

func TestGradientsOfLayers(t *testing.T) {
	conv := func(s convShape) func(b *builder, in node) node {
		return func(b *builder, in node) node { return b.conv("", in, s) }
	}
	tests := []struct {
		name            string
		h, w, c, border int
		build           func(b *builder, in node) node
	}{
		{"dense", 1, 1, 7, 0, func(b *builder, in node) node { return b.dense("", in, 5, ones) }},
		{"dense on an image", 2, 3, 2, 0, func(b *builder, in node) node { return b.dense("", in, 4, ones) }},
		{"conv 3x3 with a bias", 4, 3, 2, 1, func(b *builder, in node) node {
			return b.biased("", conv(convShape{channels: 4, size: 3, step: 1, pad: 1})(b, in))
		}},
		{"relu", 3, 2, 3, 1, func(b *builder, in node) node { return b.relu(in) }},
		{"max pool", 4, 4, 3, 0, func(b *builder, in node) node { return b.maxPool(in, 0) }},
		{"max pool of vectors", 2, 6, 21, 0, func(b *builder, in node) node { return b.maxPool(in, 1) }},
		{"max pool inside a border", 2, 4, 3, 1, func(b *builder, in node) node { return b.maxPool(in, 1) }},
		{"mean pool", 3, 2, 4, 1, func(b *builder, in node) node { return b.meanPool(in) }},
		{"conv 1x1", 3, 2, 3, 0, conv(convShape{channels: 5, size: 1, step: 1})},
		{"conv 3x3 padded", 4, 5, 2, 1, conv(convShape{channels: 4, size: 3, step: 1, pad: 1})},
		{"conv 3x3 strided", 4, 6, 2, 1, conv(convShape{channels: 5, size: 3, step: 2, pad: 1})},
		{"conv 3x3 strided, odd image", 5, 7, 1, 1, conv(convShape{channels: 3, size: 3, step: 2, pad: 1})},
		{"conv 5x5 padded by 2", 3, 4, 1, 2, conv(convShape{channels: 6, size: 5, step: 1, pad: 2})},
		{"conv 5x5 without padding", 6, 5, 2, 0, conv(convShape{channels: 3, size: 5, step: 1})},
		{"conv after conv", 4, 4, 4, 1, func(b *builder, in node) node {
			s := convShape{channels: 4, size: 3, step: 1, pad: 1}
			return b.conv("2", b.conv("1", in, s), s)
		}},
		{"conv 1x1 strided", 5, 4, 3, 0, conv(convShape{channels: 2, size: 1, step: 2})},
		{"conv narrower than the border", 4, 4, 2, 2, conv(convShape{channels: 2, size: 3, step: 1, pad: 1})},
		{"batch norm", 3, 2, 3, 1, func(b *builder, in node) node { return b.batchNorm("", in, linearly()) }},
		{"group norm, one channel each", 3, 2, 8, 1,
			func(b *builder, in node) node { return b.groupNorm("", in, linearly()) }},
		{"group norm, two channels each", 2, 1, 16, 1,
			func(b *builder, in node) node { return b.groupNorm("", in, linearly()) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachTier(t, func(t *testing.T, tier kernel.Tier) {
				newBench(tier, 2, tt.h, tt.w, tt.c, tt.border, tt.build).check(t)
			})
		})
	}
}

// The ReLUs inside a block get values around zero, where finite differences fail. So the test
// switches the body off and checks the shortcut alone. Tests of networks cover the body.
func TestGradientOfTheShortcut(t *testing.T) {
	for name, tt := range map[string]struct{ c, channels, step int }{
		"same size":                 {8, 8, 1},
		"half the size, twice wide": {8, 16, 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := newBench(kernel.Best(), 2, 3, 4, tt.c, 1, func(b *builder, in node) node {
				return b.residual("", in, tt.channels, tt.step, (*builder).groupNorm)
			})
			last := l.layers[0].(*residual).body[3].(*groupNorm)
			clear(last.gamma.of(l.x))
			clear(last.beta.of(l.x))
			l.gradient()
			in, out := l.in.value, l.out.value
			first := (tt.channels - tt.c) / 2
			want := newTensor(2, in.dims)
			for b := range 2 {
				for i := range out.h {
					for j := range out.w {
						for o := range out.c {
							y := float32(0)
							p := in.at(b, i*tt.step, j*tt.step) + o - first
							if o >= first && o < first+tt.c {
								y = max(0, l.input[p])
							}
							q := out.at(b, i, j) + o
							if out.v[q] != y {
								t.Fatalf("output (%d, %d, %d) is %v, want %v", i, j, o, out.v[q], y)
							}
							if y > 0 {
								want.v[p] = l.direction.v[q]
							}
						}
					}
				}
				for i := range in.h {
					for j, d := range l.in.grad.row(b, i) {
						if w := want.row(b, i)[j]; d != w {
							t.Fatalf("gradient of image %d row %d value %d is %v, want %v", b, i, j, d, w)
						}
					}
				}
			}
		})
	}
}

func TestConvIsItsDefinition(t *testing.T) {
	for _, s := range []struct {
		h, w, c int
		conv    convShape
	}{
		{5, 5, 1, convShape{channels: 6, size: 5, step: 1, pad: 2}},
		{7, 6, 3, convShape{channels: 4, size: 3, step: 1, pad: 1}},
		{7, 7, 2, convShape{channels: 5, size: 3, step: 2, pad: 1}},
		{6, 8, 2, convShape{channels: 8, size: 3, step: 2, pad: 1}},
		{6, 7, 6, convShape{channels: 3, size: 5, step: 1}},
	} {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			l := newBench(kernel.Best(), 2, s.h, s.w, s.c, s.conv.pad,
				func(b *builder, in node) node { return b.conv("", in, s.conv) })
			l.loss()
			for b := range 2 {
				for i := range l.out.value.h {
					for j := range l.out.value.w {
						for o := range s.conv.channels {
							got, want := l.out.value.v[l.out.value.at(b, i, j)+o], naiveConv(l, s.conv, b, i, j, o)
							if math.Abs(float64(got)-want) > 1e-5 {
								t.Fatalf("output (%d, %d, %d) is %v, want %v", i, j, o, got, want)
							}
						}
					}
				}
			}
		})
	}
}

// naiveConv is the definition: pixels outside the image are zero.
func naiveConv(l *bench, s convShape, b, i, j, o int) (sum float64) {
	in := l.in.value
	for ky := range s.size {
		for kx := range s.size {
			y, x := i*s.step+ky-s.pad, j*s.step+kx-s.pad
			if y < 0 || y >= in.h || x < 0 || x >= in.w {
				continue
			}
			for c := range in.c {
				w := l.x[((ky*s.size+kx)*in.c+c)*s.channels+o]
				sum += float64(w) * float64(l.input[in.at(b, y, x)+c])
			}
		}
	}
	return sum
}

func TestDenseIsItsDefinition(t *testing.T) {
	for _, s := range []struct{ n, inputs, outputs int }{{1, 1, 1}, {1, 9, 4}, {2, 5, 10}, {3, 8, 6}, {5, 4, 3}} {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			l := newBench(kernel.Best(), s.n, 1, 1, s.inputs, 0,
				func(b *builder, in node) node { return b.dense("", in, s.outputs, ones) })
			l.loss()
			for b := range s.n {
				for o := range s.outputs {
					want := float64(l.x[s.inputs*s.outputs+o])
					for i := range s.inputs {
						want += float64(l.input[b*s.inputs+i]) * float64(l.x[i*s.outputs+o])
					}
					if got := l.out.value.v[b*s.outputs+o]; math.Abs(float64(got)-want) > 1e-5 {
						t.Errorf("sample %d output %d is %v, want %v", b, o, got, want)
					}
				}
			}
		})
	}
}

// With γ = 1 and β = 0 each normalized set has mean 0 and variance 1, also when
// its mean is large against its deviation.
func TestNormalizedValuesAreStandard(t *testing.T) {
	const n, h, w, c = 3, 4, 5, 16
	tests := map[string]struct {
		norm normalizer
		set  func(b, ch int) int
	}{
		"batch": {(*builder).batchNorm, func(_, ch int) int { return ch }},
		"group": {(*builder).groupNorm, func(b, ch int) int { return b*normGroups + ch/2 }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := newBench(kernel.Best(), n, h, w, c, 1, func(b *builder, in node) node { return tt.norm(b, "", in, linearly()) })
			fill(l.x[:c], 1)
			fill(l.x[c:], 0)
			for i := range l.input {
				l.input[i] += 20
			}
			l.loss()
			count, first, second := map[int]float64{}, map[int]float64{}, map[int]float64{}
			for b := range n {
				for i := range h {
					for j, v := range l.out.value.row(b, i) {
						s := tt.set(b, j%c)
						count[s]++
						first[s] += float64(v)
						second[s] += float64(v) * float64(v)
					}
				}
			}
			for s, m := range count {
				mean, variance := first[s]/m, second[s]/m
				if math.Abs(mean) > 1e-4 || math.Abs(variance-1) > 1e-3 {
					t.Errorf("set %d has mean %v and variance %v", s, mean, variance)
				}
			}
		})
	}
}

// After many batches of one distribution, the running statistics are its own.
func TestBatchNormEvaluatesWithRunningStatistics(t *testing.T) {
	l := newBench(kernel.Best(), 4, 3, 3, 2, 0, func(b *builder, in node) node { return b.batchNorm("", in, linearly()) })
	norm := l.layers[0].(*batchNorm)
	before := append([]float64(nil), norm.runMean...)
	for _, part := range l.layers {
		part.forward(l.x, l.n, evaluating)
	}
	if norm.runMean[0] != before[0] || norm.runVar[0] != 1 {
		t.Error("an evaluation moved the running statistics")
	}
	for range 200 {
		l.loss()
	}
	trained := append([]float32(nil), l.out.value.v...)
	norm.forward(l.x, l.n, evaluating)
	const m = 4 * 3 * 3 // the running variance is the unbiased one
	for i, v := range l.out.value.v {
		beta := norm.beta.of(l.x)[i%2]
		want := float64(trained[i]-beta)*math.Sqrt(float64(m-1)/m) + float64(beta)
		if math.Abs(float64(v)-want) > 1e-4 {
			t.Fatalf("value %d is %v, want %v", i, v, want)
		}
	}
}

func TestBordersStayZero(t *testing.T) {
	for name, spec := range small {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, spec).(*net)
			x, g := make([]float32, m.Dim()), make([]float32, m.Dim())
			m.Init(x, 5)
			for round := range 2 {
				m.Gradient(g, x, randomBatch(spec, spec.Batch, round))
			}
			eachLayer(m.layers, func(l layer) {
				if c, ok := l.(*conv); ok {
					checkBorder(t, c.weight.Name, c.in.value)
				}
			})
		})
	}
}

// eachLayer visits all layers, those inside residual blocks too.
func eachLayer(layers []layer, visit func(layer)) {
	for _, l := range layers {
		visit(l)
		if r, ok := l.(*residual); ok {
			eachLayer(r.body, visit)
		}
	}
}

// checkBorder finds non-zero values outside the image.
func checkBorder(t *testing.T, name string, v *tensor) {
	t.Helper()
	inside := make([]bool, len(v.v))
	images := len(v.v) / v.size()
	for i := range images * v.h {
		first := v.at(i/v.h, i%v.h, 0)
		for j := range v.w * v.c {
			inside[first+j] = true
		}
	}
	for i, value := range v.v {
		if !inside[i] && value != 0 {
			t.Fatalf("input of %s: border value %d is %v", name, i, value)
		}
	}
}

// linearly is no activation.
func linearly() activation { return activation{floor: float32(math.Inf(-1))} }
