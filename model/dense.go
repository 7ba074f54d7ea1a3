package model

import "gossiptrainer/internal/kernel"

// A dense layer is y = xW + b over n samples, W [in][out]; its gradients are
//
//	dW = xᵀ·dy,  db = Σ dy,  dx = dy·Wᵀ.
//
// It takes images as rows of h·w·c features; they must have no border. To the
// kernels it is a convolution of images of 1×n pixels with one tap.
//
// The kernels take packed weights. A large layer packs one strip of them at a time, so that no
// second copy of its weights is in memory.
type dense struct {
	tier     kernel.Tier
	in, out  node
	weight   Param
	bias     bias
	forwards strips
	back     strips // empty if dx is not wanted
	weights  rows
}

// dense appends a dense layer with a bias.
func (b *builder) dense(name string, in node, outputs int, s start) node {
	inputs := in.value.size()
	l := &dense{tier: b.tier, in: in, out: b.node(dims{1, 1, outputs, 0})}
	l.weight = b.param(name+".weight", s, inputs, outputs)
	b.files(denseTensor(l.weight, in.value.dims))
	l.bias = newBias(b, name, outputs)
	l.forwards = b.strips(inputs, outputs)
	l.forwards.place(1, 1, b.batch, grid{pixel: inputs}, grid{pixel: outputs})
	if in.grad != nil {
		l.back = b.strips(outputs, inputs)
		l.back.place(1, 1, b.batch, grid{pixel: outputs}, grid{pixel: inputs})
	}
	l.weights = newRows(l.weight, inputs, outputs)
	b.longest = max(b.longest, l.weights.longest(), outputs)
	b.layers = append(b.layers, l)
	return l.out
}

func (l *dense) forward(x []float32, n int, m mode) {
	f := &l.forwards
	inputs, outputs := l.in.value.size(), l.out.value.c
	if m != repeating {
		l.tier.PackPanels(f.filter.Start, l.bias.param.of(x), outputs)
	}
	f.place(1, 1, n, grid{pixel: inputs}, grid{pixel: outputs})
	for first := 0; first < outputs; first += f.wide {
		part := f.part(first)
		if m != repeating || f.wide < outputs {
			l.tier.PackColumns(part.Weights, l.weight.of(x), outputs, first, first+part.Channels)
		}
		l.tier.Convolve(l.out.value.v[first:], l.in.value.v, &f.window, part, f.quads)
	}
}

func (l *dense) backward(g *gradients, x []float32, n int) {
	inputs, outputs := l.in.value.size(), l.out.value.c
	l.bias.backward(l.tier, g, l.out.grad, n)
	l.weights.backward(l.tier, g, l.in.value.reach(), l.out.grad.v, n)
	if l.in.grad == nil {
		return
	}
	f, w := &l.back, l.weight.of(x)
	f.place(1, 1, n, grid{pixel: outputs}, grid{pixel: inputs})
	for first := 0; first < inputs; first += f.wide {
		part := f.part(first)
		kernel.PackPanelsTransposed(part.Weights, outputs, w[first*outputs:][:part.Channels*outputs], outputs)
		l.tier.Convolve(l.in.grad.v[first:], l.out.grad.v, &f.window, part, f.quads)
	}
}
