package model

import "math"

// A groupNorm is Wu and He, "Group Normalization" (2018), eq. 1 to 6: per image
// and group of channels, over its M values,
//
//	y = γ·(z − μ)/σ + β,  σ² = var + ε.
//
// With N = Σdy and Q = Σdy·z per image and channel: dβ += N,
// dγ += (Q − μN)/σ and, with A = Σγ·N and E = Σγ·(Q − μN)/σ over the group,
//
//	dz = γ/σ·dy − E/(Mσ²)·(z − μ) − A/(Mσ).
//
// It sees one image at a time: no statistics depend on what else is in the
// batch or has been seen before.
type groupNorm struct {
	in, out     node
	gamma, beta Param
	groups      int

	mean, deviation []float64 // μ, σ per image and group
	sums            moments
	scale, shift    []float32
	gradient        affine
}

// normGroups is the number of groups, whatever the number of channels.
const normGroups = 8

func (b *builder) groupNorm(name string, in node) node {
	v := in.value
	l := &groupNorm{
		in: in, out: b.node(v.h, v.w, v.c, v.border), groups: normGroups,
		gamma: b.param(name+".gamma", ones, v.c), beta: b.param(name+".beta", zeros, v.c),
		mean: make([]float64, b.batch*normGroups), deviation: make([]float64, b.batch*normGroups),
		sums: newMoments(v.c), gradient: newAffine(v.c),
		scale: make([]float32, v.c), shift: make([]float32, v.c),
	}
	b.layers = append(b.layers, l)
	return l.out
}

func (l *groupNorm) forward(x []float32, n int, _ mode) {
	z := l.in.value
	gamma, beta := l.gamma.of(x), l.beta.of(x)
	wide := z.c / l.groups
	for b := range n {
		l.measure(b)
		for c := range gamma {
			group := b*l.groups + c/wide
			a := float64(gamma[c]) / l.deviation[group]
			l.scale[c] = float32(a)
			l.shift[c] = float32(float64(beta[c]) - float64(l.mean[group]*a))
		}
		normalize(l.out.value, z, b, l.scale, l.shift)
	}
}

// measure computes μ and σ of the groups of image b.
func (l *groupNorm) measure(b int) {
	z := l.in.value
	wide := z.c / l.groups
	count := float64(wide * z.h * z.w)
	l.sums.reset()
	l.sums.add(z, z, b)
	for j := range l.groups {
		mu := sum(l.sums.first[j*wide:(j+1)*wide]) / count
		square := sum(l.sums.second[j*wide:(j+1)*wide]) / count
		variance := max(0, square-float64(mu*mu))
		l.mean[b*l.groups+j], l.deviation[b*l.groups+j] = mu, math.Sqrt(variance+normEpsilon)
	}
}

func (l *groupNorm) backward(g, x []float32, n int) {
	z, dy, dz := l.in.value, l.out.grad, l.in.grad
	clear(l.gamma.of(g))
	clear(l.beta.of(g))
	for b := range n {
		l.sums.reset()
		l.sums.add(dy, z, b)
		for j := range l.groups {
			l.backwardGroup(g, x, b, j)
		}
		l.gradient.apply(dz, dy, z, b)
	}
}

// backwardGroup adds the part of group j of image b to dγ and dβ and computes
// the coefficients of its dz.
func (l *groupNorm) backwardGroup(g, x []float32, b, j int) {
	z := l.in.value
	wide := z.c / l.groups
	count := float64(wide * z.h * z.w)
	mu, sigma := l.mean[b*l.groups+j], l.deviation[b*l.groups+j]
	gamma, dgamma, dbeta := l.gamma.of(x), l.gamma.of(g), l.beta.of(g)
	a, e := 0.0, 0.0
	for c := j * wide; c < (j+1)*wide; c++ {
		first := l.sums.first[c]
		dg := (l.sums.second[c] - float64(mu*first)) / sigma
		dgamma[c] += float32(dg)
		dbeta[c] += float32(first)
		a += float64(float64(gamma[c]) * first)
		e += float64(float64(gamma[c]) * dg)
	}
	p := -e / (count * sigma * sigma)
	q := -float64(a/(count*sigma)) - float64(p*mu)
	for c := j * wide; c < (j+1)*wide; c++ {
		l.gradient.k[c] = float32(float64(gamma[c]) / sigma)
		l.gradient.p[c], l.gradient.q[c] = float32(p), float32(q)
	}
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}
