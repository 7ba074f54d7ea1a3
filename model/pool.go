package model

import "gossiptrainer/internal/kernel"

// A maxPool takes the largest of each 2×2 pixels, per channel; of equal ones
// the first in row order, to which alone the gradient goes back.
type maxPool struct {
	tier    kernel.Tier
	in, out node
}

// maxPool appends a pool that halves an image of even height and width and gives
// it a border.
func (b *builder) maxPool(in node, border int) node {
	v := in.value
	l := maxPool{b.tier, in, b.node(dims{v.h / 2, v.w / 2, v.c, border})}
	b.layers = append(b.layers, l)
	return l.out
}

func (l maxPool) forward(_ []float32, n int, _ mode) {
	x, y := l.in.value, l.out.value
	for b := range n {
		l.tier.MaxPool(y.plane(b), x.plane(b), y.shape())
	}
}

func (l maxPool) backward(_ *gradients, _ []float32, n int) {
	x, dx, y, dy := l.in.value, l.in.grad, l.out.value, l.out.grad
	for b := range n {
		l.tier.MaxPoolGradient(dx.plane(b), x.plane(b), y.plane(b), dy.plane(b), y.shape())
	}
}

// A meanPool takes the mean over all pixels of an image, per channel.
type meanPool struct{ in, out node }

func (b *builder) meanPool(in node) node {
	l := meanPool{in, b.node(dims{1, 1, in.value.c, 0})}
	b.layers = append(b.layers, l)
	return l.out
}

func (l meanPool) forward(_ []float32, n int, _ mode) {
	in := l.in.value
	scale := 1 / float32(in.h*in.w)
	for b := range n {
		y := l.out.value.row(b, 0)
		clear(y)
		for i := range in.h {
			for row := in.row(b, i); len(row) > 0; row = row[in.c:] {
				for c := range y {
					y[c] += row[c]
				}
			}
		}
		for c := range y {
			y[c] *= scale
		}
	}
}

func (l meanPool) backward(_ *gradients, _ []float32, n int) {
	in := l.in.grad
	scale := 1 / float32(in.h*in.w)
	for b := range n {
		dy := l.out.grad.row(b, 0)
		for i := range in.h {
			for row := in.row(b, i); len(row) > 0; row = row[in.c:] {
				for c, d := range dy {
					row[c] = d * scale
				}
			}
		}
	}
}
