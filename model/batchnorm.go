package model

import (
	"errors"
	"math"
	"slices"

	"gossiptrainer/gossip/state"
)

// A batchNorm is Ioffe and Szegedy, "Batch Normalization" (2015), algorithm 1:
// per channel, over the M = n·h·w values of the batch,
//
//	y = γ·(z − μ)/σ + β,  σ² = var + ε.
//
// With N = Σdy, Q = Σdy·z: dβ = N, dγ = (Q − μN)/σ and
//
//	dz = γ/σ·dy − γ·dγ/(Mσ²)·(z − μ) − γN/(Mσ).
//
// Evaluation uses running means of μ and of the unbiased variance over the
// gradients computed so far. They are this worker's own: they are no
// parameters, are not mixed with the neighbours' and are not in the flat vector.
type batchNorm struct {
	affine
	mean, deviation []float64 // μ, σ of the last batch
	runMean, runVar []float64
	first, second   []float64 // sums of images so far
	a, b, k, p, q   []float32
}

// runningShare is the weight of the newest batch in the running statistics.
const runningShare = 0.1

func (b *builder) batchNorm(name string, in node, after activation) node {
	l := &batchNorm{affine: b.affine(name, in, after)}
	b.statistics(name+".running_mean", in.value.c)
	b.statistics(name+".running_var", in.value.c)
	for _, s := range []*[]float64{&l.mean, &l.deviation, &l.runMean, &l.runVar, &l.first, &l.second} {
		*s = make([]float64, in.value.c)
	}
	for _, s := range []*[]float32{&l.a, &l.b, &l.k, &l.p, &l.q} {
		*s = make([]float32, in.value.c)
	}
	for c := range l.runVar {
		l.runVar[c] = 1
	}
	return b.normalize(l, &l.affine)
}

func (l *batchNorm) measure(b int, m mode) {
	if m == training {
		l.affine.measure(b)
		l.add()
	}
}

func (l *batchNorm) measureGradient(b int) {
	l.affine.measureGradient(b)
	l.add()
}

// add adds the sums of an image to those of the batch.
func (l *batchNorm) add() {
	for c, v := range l.sum {
		l.first[c] += float64(v)
		l.second[c] += float64(l.product[c])
	}
}

func (l *batchNorm) apply(b int) { l.affine.apply(b, l.a, l.b) }

func (l *batchNorm) applyGradient(b, place int) { l.affine.applyGradient(b, place, l.k, l.p, l.q) }

func (l *batchNorm) forward(x []float32, n int, m mode) {
	if m == training {
		l.finish(n)
	}
	gamma, beta := l.gamma.of(x), l.beta.of(x)
	for c := range l.mean {
		mu, sigma := l.mean[c], l.deviation[c]
		if m != training {
			mu, sigma = l.runMean[c], math.Sqrt(l.runVar[c]+normEpsilon)
		}
		a := float64(gamma[c]) / sigma
		l.a[c] = float32(a)
		l.b[c] = float32(float64(beta[c]) - float64(mu*a))
	}
	for b := 0; b < n && !l.behind; b++ {
		l.apply(b)
	}
}

// finish computes μ and σ of the batch and moves the running statistics.
func (l *batchNorm) finish(n int) {
	for b := 0; b < n && !l.before; b++ {
		l.measure(b, training)
	}
	count := float64(n * l.in.value.h * l.in.value.w)
	for c := range l.mean {
		mu := l.first[c] / count
		variance := max(0, l.second[c]/count-float64(mu*mu))
		l.mean[c], l.deviation[c] = mu, math.Sqrt(variance+normEpsilon)
		unbiased := variance * count / max(1, count-1)
		l.runMean[c] += float64(runningShare * (mu - l.runMean[c]))
		l.runVar[c] += float64(runningShare * (unbiased - l.runVar[c]))
	}
	clear(l.first)
	clear(l.second)
}

func (l *batchNorm) backward(g *gradients, x []float32, n int) {
	for b := 0; b < n && !l.behind; b++ {
		l.measureGradient(b)
	}
	count := float64(n * l.in.value.h * l.in.value.w)
	gamma := l.gamma.of(x)
	both, dgamma, dbeta := l.gradients(g)
	for c, mu := range l.mean {
		sum, sigma := l.first[c], l.deviation[c]
		dg := (l.second[c] - float64(mu*sum)) / sigma
		k := float64(gamma[c]) / sigma
		p := -k * dg / (sigma * count)
		dgamma[c], dbeta[c] = float32(dg), float32(sum)
		l.k[c] = float32(k)
		l.p[c] = float32(p)
		l.q[c] = float32(-float64(k*sum/count) - float64(p*mu))
	}
	g.done(l.gamma.Off, both)
	clear(l.first)
	clear(l.second)
	for b := 0; b < n && !l.before; b++ {
		l.applyGradient(b, b)
	}
}

// State shows the running statistics.
func (l *batchNorm) State(v *state.Visit) {
	v.Doubles("mean", l.runMean)
	v.Doubles("variance", l.runVar)
	if slices.Min(l.runVar) < 0 {
		v.Fail("variance", errors.New("a variance below 0"))
	}
}
