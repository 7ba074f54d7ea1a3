package model

import "gossiptrainer/internal/kernel"

// A relu is y = max(x, 0), in place: the gradient passes where y > 0.
type relu struct {
	tier kernel.Tier
	at   node
}

func (b *builder) relu(at node) node {
	b.layers = append(b.layers, relu{b.tier, at})
	return at
}

func (l relu) forward(_ []float32, n int, _ mode) {
	y := l.at.value
	if y.border == 0 {
		l.tier.Rectify(kernel.Plane{V: y.v}, 1, n*y.size())
		return
	}
	for b := range n {
		l.tier.Rectify(y.plane(b), y.h, y.w*y.c)
	}
}

func (l relu) backward(_ *gradients, _ []float32, n int) {
	y, dy := l.at.value, l.at.grad
	if y.border == 0 && dy.border == 0 {
		l.tier.Mask(kernel.Plane{V: dy.v}, kernel.Plane{V: y.v}, 1, n*y.size())
		return
	}
	for b := range n {
		l.tier.Mask(dy.plane(b), y.plane(b), y.h, y.w*y.c)
	}
}
