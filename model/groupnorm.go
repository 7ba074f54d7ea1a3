package model

import "math"

// A groupNorm is Wu and He, "Group Normalization" (2018), eq. 1 to 6: per image
// and group of channels, over its M values,
//
//	y = γ·(z − μ)/σ + β,  σ² = var + ε.
//
// With N = Σdy and Q = Σdy·z per image and channel, A = Σγ·N and E = Σγ·(Q − μN)/σ over the
// group:
//
//	dβ += N,  dγ += (Q − μN)/σ,
//	dz = γ/σ·dy − E/(Mσ²)·(z − μ) − A/(Mσ).
//
// It sees one image at a time: no statistics depend on what else is in the
// batch or has been seen before.
type groupNorm struct {
	affine
	groups          int
	mean, deviation []float64 // μ, σ per image and group
	x               []float32 // the parameters of the last pass
	sums, products  []float32 // Σ dy and Σ dy·z per image and channel
	a, b, k, p, q   []float32
}

// normGroups is the number of groups, whatever the number of channels.
const normGroups = 8

func (b *builder) groupNorm(name string, in node, after activation) node {
	l := &groupNorm{
		affine: b.affine(name, in, after), groups: normGroups,
		mean: make([]float64, b.batch*normGroups), deviation: make([]float64, b.batch*normGroups),
		sums: make([]float32, b.batch*in.value.c), products: make([]float32, b.batch*in.value.c),
	}
	for _, s := range []*[]float32{&l.a, &l.b, &l.k, &l.p, &l.q} {
		*s = make([]float32, in.value.c)
	}
	return b.normalize(l, &l.affine)
}

// group returns the first and the last but one channel of group j, and how many
// values of an image belong to it.
func (l *groupNorm) group(j int) (first, end int, count float64) {
	z := l.in.value
	wide := z.c / l.groups
	return j * wide, (j + 1) * wide, float64(wide * z.h * z.w)
}

// measure computes μ and σ of the groups of image b.
func (l *groupNorm) measure(b int, _ mode) {
	l.affine.measure(b)
	for j := range l.groups {
		first, end, count := l.group(j)
		mu := sum(l.sum[first:end]) / count
		variance := max(0, sum(l.product[first:end])/count-float64(mu*mu))
		l.mean[b*l.groups+j], l.deviation[b*l.groups+j] = mu, math.Sqrt(variance+normEpsilon)
	}
}

func (l *groupNorm) apply(b int) {
	gamma, beta := l.gamma.of(l.x), l.beta.of(l.x)
	for j := range l.groups {
		mu, sigma := l.mean[b*l.groups+j], l.deviation[b*l.groups+j]
		first, end, _ := l.group(j)
		for c := first; c < end; c++ {
			a := float64(gamma[c]) / sigma
			l.a[c] = float32(a)
			l.b[c] = float32(float64(beta[c]) - float64(mu*a))
		}
	}
	l.affine.apply(b, l.a, l.b)
}

func (l *groupNorm) forward(x []float32, n int, m mode) {
	l.x = x
	for b := range n {
		if !l.before {
			l.measure(b, m)
		}
		if !l.behind {
			l.apply(b)
		}
	}
}

func (l *groupNorm) measureGradient(b int) {
	l.affine.measureGradient(b)
	copy(l.sums[b*len(l.sum):], l.sum)
	copy(l.products[b*len(l.sum):], l.product)
}

func (l *groupNorm) backward(g *gradients, x []float32, n int) {
	l.x = x
	both, dgamma, dbeta := l.gradients(g)
	clear(both)
	for b := range n {
		if !l.behind {
			l.measureGradient(b)
		}
		for c := range dgamma {
			n, dg := l.scaleGradient(b, c)
			dgamma[c] += float32(dg)
			dbeta[c] += float32(n)
		}
		if !l.before {
			l.applyGradient(b, b)
		}
	}
	g.done(l.gamma.Off, both)
}

// scaleGradient returns N and (Q − μN)/σ of channel c of image b.
func (l *groupNorm) scaleGradient(b, c int) (n, dg float64) {
	i, j := b*len(l.sum)+c, b*l.groups+c/(len(l.sum)/l.groups)
	n = float64(l.sums[i])
	return n, (float64(l.products[i]) - float64(l.mean[j]*n)) / l.deviation[j]
}

func (l *groupNorm) applyGradient(b, place int) {
	gamma := l.gamma.of(l.x)
	for j := range l.groups {
		first, end, count := l.group(j)
		mu, sigma := l.mean[b*l.groups+j], l.deviation[b*l.groups+j]
		a, e := 0.0, 0.0
		for c := first; c < end; c++ {
			n, dg := l.scaleGradient(b, c)
			a += float64(float64(gamma[c]) * n)
			e += float64(float64(gamma[c]) * dg)
		}
		p := -e / (count * sigma * sigma)
		q := -float64(a/(count*sigma)) - float64(p*mu)
		for c := first; c < end; c++ {
			l.k[c] = float32(float64(gamma[c]) / sigma)
			l.p[c], l.q[c] = float32(p), float32(q)
		}
	}
	l.affine.applyGradient(b, place, l.k, l.p, l.q)
}

func sum(x []float32) (s float64) {
	for _, v := range x {
		s += float64(v)
	}
	return s
}
