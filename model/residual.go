package model

import (
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
)

// A residual block is y = relu(body(x) + shortcut(x)) (He, Zhang, Ren and Sun,
// "Deep Residual Learning", 2016). The shortcut is their option A, which has
// no parameters: every step-th pixel, and zeros for the channels that x lacks,
// half of them before x's and half after.
type residual struct {
	body    []layer
	in, out node
	step    int
	rest    *tensor // the shortcut of another shape than in, or nil
}

// residual appends a block of two 3×3 convolutions. The last normalization of
// the body adds the shortcut.
func (b *builder) residual(name string, in node, channels, step int, norm normalizer) node {
	before := b.layers
	b.layers = nil
	at := b.conv(name+".conv1", in, convShape{channels: channels, size: 3, step: step, pad: 1})
	at = norm(b, name+".norm1", at, rectified(nil))
	at = b.conv(name+".conv2", at, convShape{channels: channels, size: 3, step: 1, pad: 1})
	l := &residual{in: in, step: step}
	shortcut := in.value
	if step > 1 || channels != in.value.c {
		l.rest = b.tensor(b.batch, dims{at.value.h, at.value.w, channels, at.value.border})
		shortcut = l.rest
	}
	l.out = norm(b, name+".norm2", at, rectified(shortcut))
	l.body = b.layers
	first := l.body[0].(*conv)
	first.shortcut, first.ahead.weights = l, append(first.ahead.weights, l.out.grad)
	b.layers = append(before, l)
	return l.out
}

func (l *residual) forward(x []float32, n int, m mode) {
	for i, part := range l.body {
		part.forward(x, n, m)
		for b := 0; b < n && i == 0 && l.rest != nil; b++ { // now the input is there
			l.eachPixel(b, func(out, in int) {
				copy(l.rest.v[out:out+l.in.value.c], l.in.value.v[in:])
			})
		}
	}
}

// backward runs the body, whose first convolution calls addGradient.
func (l *residual) backward(g *gradients, x []float32, n int) {
	for i := len(l.body) - 1; i >= 0; i-- {
		l.body[i].backward(g, x, n)
	}
}

// addGradient adds the shortcut's dx of image b.
func (l *residual) addGradient(b int) {
	dx, dy := l.in.grad, l.out.grad
	if l.rest == nil {
		size := dx.size()
		vec.Axpy(dx.v[b*size:(b+1)*size], 1, dy.v[b*size:])
		return
	}
	l.eachPixel(b, func(out, in int) {
		d := dx.v[in : in+dx.c]
		for c, v := range dy.v[out : out+dx.c] {
			d[c] += v
		}
	})
}

// eachPixel calls visit for every output pixel of image b with the indices at
// which the channels of the shortcut begin in the output and in the input.
func (l *residual) eachPixel(b int, visit func(out, in int)) {
	in, out := l.in.value, l.out.value
	first := (out.c - in.c) / 2
	for i := range out.h {
		for j := range out.w {
			visit(out.at(b, i, j)+first, in.at(b, i*l.step, j*l.step))
		}
	}
}

// State shows that of the body.
func (l *residual) State(v *state.Visit) { visitLayers(v, l.body) }
