package model

import (
	"math"

	"gossiptrainer/internal/kernel"
)

// normEpsilon is added to variances, as in both papers' implementations.
const normEpsilon = 1e-5

// A normalization has what both kinds share: they are z ↦ a·z + b per channel,
// with a and b made of the mean and the variance of z over some set of values,
// and
//
//	dz = k·dy + p·z + q
//
// with k, p, q made of the sums of dy and dy·z over the same set. What the sets
// are is the kinds' affair. What follows is part of the same passes over
// memory: y = max(a·z + b + r, floor).
//
// Sums over an image are float32, sums of images float64, so that the variance
// as mean square minus squared mean keeps enough digits.
type normalization struct {
	tier        kernel.Tier
	in, out     node
	gamma, beta Param
	after       activation

	sum, product  []float32 // of an image
	first, second []float64 // of more
	a, b, k, p, q []float32
}

// An activation is what follows a normalization: the addition of rest, if there
// is one, then the maximum with floor.
type activation struct {
	floor float32
	rest  *tensor
}

// linear is no activation.
func linearly() activation { return activation{floor: float32(math.Inf(-1))} }

// rectified is a ReLU after the addition of rest, nil for none.
func rectified(rest *tensor) activation { return activation{rest: rest} }

func (b *builder) normalization(name string, in node, after activation) normalization {
	v := in.value
	l := normalization{
		tier: b.tier, in: in, out: b.node(v.h, v.w, v.c, v.border), after: after,
		gamma: b.param(name+".gamma", ones, v.c), beta: b.param(name+".beta", zeros, v.c),
		first: make([]float64, v.c), second: make([]float64, v.c),
	}
	for _, s := range []*[]float32{&l.sum, &l.product, &l.a, &l.b, &l.k, &l.p, &l.q} {
		*s = make([]float32, v.c)
	}
	return l
}

// reset sets the sums to zero.
func (l *normalization) reset() {
	clear(l.first)
	clear(l.second)
}

// add adds the sums of an image to those of more.
func (l *normalization) add() {
	for c, v := range l.sum {
		l.first[c] += float64(v)
		l.second[c] += float64(l.product[c])
	}
}

// measure adds Σ z and Σ z² over image b to the sums.
func (l *normalization) measure(b int) {
	z := l.in.value
	l.tier.Moments(l.sum, l.product, z.plane(b), z.plane(b), z.shape())
	l.add()
}

// apply computes y of image b.
func (l *normalization) apply(b int) {
	y, z := l.out.value, l.in.value
	if l.after.rest == nil {
		l.tier.Normalize(y.plane(b), z.plane(b), l.a, l.b, l.after.floor, z.shape())
		return
	}
	l.tier.NormalizeAdd(y.plane(b), z.plane(b), l.after.rest.plane(b), l.a, l.b, l.after.floor, z.shape())
}

// measureGradient takes dy of image b back over the activation, in place, and
// adds Σ dy and Σ dy·z to the sums.
func (l *normalization) measureGradient(b int) {
	y, dy, z := l.out.value, l.out.grad, l.in.value
	if l.after.floor == 0 {
		l.tier.MaskedMoments(l.sum, l.product, dy.plane(b), z.plane(b), y.plane(b), z.shape())
	} else {
		l.tier.Moments(l.sum, l.product, dy.plane(b), z.plane(b), z.shape())
	}
	l.add()
}

// applyGradient computes dz of image b.
func (l *normalization) applyGradient(b int) {
	dz, dy, z := l.in.grad, l.out.grad, l.in.value
	l.tier.Combine(dz.plane(b), dy.plane(b), z.plane(b), l.k, l.p, l.q, z.shape())
}
