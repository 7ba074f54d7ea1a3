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
	normalization
	groups          int
	mean, deviation []float64 // μ, σ per image and group
}

// normGroups is the number of groups, whatever the number of channels.
const normGroups = 8

func (b *builder) groupNorm(name string, in node, after activation) node {
	l := &groupNorm{
		normalization: b.normalization(name, in, after), groups: normGroups,
		mean: make([]float64, b.batch*normGroups), deviation: make([]float64, b.batch*normGroups),
	}
	b.layers = append(b.layers, l)
	return l.out
}

func (l *groupNorm) forward(x []float32, n int, _ mode) {
	gamma, beta := l.gamma.of(x), l.beta.of(x)
	wide := l.in.value.c / l.groups
	for b := range n {
		l.measureImage(b)
		for c := range gamma {
			group := b*l.groups + c/wide
			a := float64(gamma[c]) / l.deviation[group]
			l.a[c] = float32(a)
			l.b[c] = float32(float64(beta[c]) - float64(l.mean[group]*a))
		}
		l.apply(b)
	}
}

// measureImage computes μ and σ of the groups of image b.
func (l *groupNorm) measureImage(b int) {
	z := l.in.value
	wide := z.c / l.groups
	count := float64(wide * z.h * z.w)
	l.reset()
	l.measure(b)
	for j := range l.groups {
		mu := sum(l.first[j*wide:(j+1)*wide]) / count
		square := sum(l.second[j*wide:(j+1)*wide]) / count
		variance := max(0, square-float64(mu*mu))
		l.mean[b*l.groups+j], l.deviation[b*l.groups+j] = mu, math.Sqrt(variance+normEpsilon)
	}
}

func (l *groupNorm) backward(g, x []float32, n int) {
	clear(l.gamma.of(g))
	clear(l.beta.of(g))
	for b := range n {
		l.reset()
		l.measureGradient(b)
		for j := range l.groups {
			l.backwardGroup(g, x, b, j)
		}
		l.applyGradient(b)
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
		first := l.first[c]
		dg := (l.second[c] - float64(mu*first)) / sigma
		dgamma[c] += float32(dg)
		dbeta[c] += float32(first)
		a += float64(float64(gamma[c]) * first)
		e += float64(float64(gamma[c]) * dg)
	}
	p := -e / (count * sigma * sigma)
	q := -float64(a/(count*sigma)) - float64(p*mu)
	for c := j * wide; c < (j+1)*wide; c++ {
		l.k[c] = float32(float64(gamma[c]) / sigma)
		l.p[c], l.q[c] = float32(p), float32(q)
	}
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}
