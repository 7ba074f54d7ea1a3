package model

import "gossiptrainer/internal/kernel"

// normEpsilon is added to variances, as in both papers' implementations.
const normEpsilon = 1e-5

// An affine is the common part of both kinds of normalization. Per channel it maps z to
// a·z + b, where a and b follow from the mean and the variance of z over some set of values.
// Its gradient is
//
//	dz = k·dy + p·z + q
//
// where k, p and q follow from the sums of dy and dy·z over the same set. Each kind chooses
// its sets. The same passes over memory add the activation: y = max(a·z + b + r, floor).
//
// Sums over an image are float32, sums of images float64, so that the variance
// as mean square minus squared mean keeps enough digits.
type affine struct {
	tier        kernel.Tier
	in, out     node
	gamma, beta Param
	after       activation

	// before: the layer before measures and applies the gradient. behind: the layer behind
	// applies and measures the gradient.
	before, behind bool

	sum, product []float32 // of an image
}

// An activation follows a normalization: it adds rest, unless nil, and takes the maximum with
// floor.
type activation struct {
	floor float32
	rest  *tensor
}

// A normalizer appends a normalization layer and its activation.
type normalizer func(b *builder, name string, in node, after activation) node

// rectified is a ReLU after the addition of rest, nil for none.
func rectified(rest *tensor) activation { return activation{rest: rest} }

func (b *builder) affine(name string, in node, after activation) affine {
	v := in.value
	out := node{value: b.tensor(b.batch, v.dims), grad: b.scratch(b.batch, v.dims, b.turn%turns)}
	b.turn++
	l := affine{tier: b.tier, in: in, out: out, after: after, sum: make([]float32, v.c), product: make([]float32, v.c)}
	l.gamma = b.param(name+".gamma", ones, v.c)
	b.files(inOrder(name+".weight", l.gamma))
	l.beta = b.param(name+".beta", zeros, v.c)
	b.files(inOrder(name+".bias", l.beta))
	b.longest = max(b.longest, 2*v.c)
	return l
}

// gradients returns the memory for dγ and dβ, which lie side by side: together, and each.
func (l *affine) gradients(g *gradients) (both, dgamma, dbeta []float32) {
	n := l.gamma.Len()
	both = g.at(l.gamma.Off, 2*n)
	return both, both[:n], both[n:]
}

// normalize appends l, which has s inside. A convolution before it takes over two
// of its passes and then needs the gradient of few images at a time.
func (b *builder) normalize(l normalization, s *affine) node {
	b.layers = append(b.layers, l)
	if c, ok := s.in.made.(*conv); ok {
		c.after, s.before = l, true
		c.out.grad = b.scratch(c.chunk, s.in.grad.dims, ownTurn)
		s.in = c.out
		c.ahead.back = []*tensor{s.out.grad, c.out.value, c.in.value}
	}
	s.out.made = l
	return s.out
}

// passOn leaves two passes to the layer behind.
func (l *affine) passOn() (z *tensor, rest []*tensor) {
	l.behind = true
	if l.after.rest != nil {
		rest = append(rest, l.after.rest)
	}
	return l.in.value, rest
}

// measure writes Σ z and Σ z² over image b.
func (l *affine) measure(b int) {
	z := l.in.value
	l.tier.Moments(kernel.Sums{U: l.sum, UV: l.product}, z.plane(b), z.plane(b), z.shape())
}

// apply computes y of image b with the coefficients ca and cb.
func (l *affine) apply(b int, ca, cb []float32) {
	y, z := l.out.value, l.in.value
	f := kernel.Affine{A: ca, B: cb, Floor: l.after.floor}
	if l.after.rest == nil {
		l.tier.Normalize(y.plane(b), z.plane(b), f, z.shape())
		return
	}
	l.tier.NormalizeAdd(y.plane(b), z.plane(b), l.after.rest.plane(b), f, z.shape())
}

// measureGradient takes dy of image b back over the activation, in place, and
// writes Σ dy and Σ dy·z.
func (l *affine) measureGradient(b int) {
	y, dy, z := l.out.value, l.out.grad, l.in.value
	sums := kernel.Sums{U: l.sum, UV: l.product}
	if l.after.floor == 0 {
		l.tier.MaskedMoments(sums, dy.plane(b), z.plane(b), y.plane(b), z.shape())
	} else {
		l.tier.Moments(sums, dy.plane(b), z.plane(b), z.shape())
	}
}

// applyGradient computes dz of image b.
func (l *affine) applyGradient(b, place int, k, p, q []float32) {
	dz, dy, z := l.in.grad, l.out.grad, l.in.value
	l.tier.Combine(dz.plane(place), dy.plane(b), z.plane(b), kernel.Linear{K: k, P: p, Q: q}, z.shape())
}
