package model

import "math"

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
	in, out     node
	gamma, beta Param

	mean, deviation []float64 // μ, σ of the last batch
	runMean, runVar []float64
	sums            moments
	scale, shift    []float32
	gradient        affine
}

// runningShare is the weight of the newest batch in the running statistics.
const runningShare = 0.1

func (b *builder) batchNorm(name string, in node) node {
	v := in.value
	l := &batchNorm{
		in: in, out: b.node(v.h, v.w, v.c, v.border),
		gamma: b.param(name+".gamma", ones, v.c), beta: b.param(name+".beta", zeros, v.c),
		mean: make([]float64, v.c), deviation: make([]float64, v.c),
		runMean: make([]float64, v.c), runVar: make([]float64, v.c),
		sums: newMoments(v.c), gradient: newAffine(v.c),
		scale: make([]float32, v.c), shift: make([]float32, v.c),
	}
	for c := range l.runVar {
		l.runVar[c] = 1
	}
	b.layers = append(b.layers, l)
	return l.out
}

func (l *batchNorm) forward(x []float32, n int, m mode) {
	mean, deviation := l.mean, l.deviation
	if m == training {
		l.measure(n)
	}
	gamma, beta := l.gamma.of(x), l.beta.of(x)
	for c := range mean {
		mu, sigma := mean[c], deviation[c]
		if m == evaluating {
			mu, sigma = l.runMean[c], math.Sqrt(l.runVar[c]+normEpsilon)
		}
		a := float64(gamma[c]) / sigma
		l.scale[c] = float32(a)
		l.shift[c] = float32(float64(beta[c]) - float64(mu*a))
	}
	for b := range n {
		normalize(l.out.value, l.in.value, b, l.scale, l.shift)
	}
}

// measure computes μ and σ of the batch and moves the running statistics.
func (l *batchNorm) measure(n int) {
	z := l.in.value
	l.sums.reset()
	for b := range n {
		l.sums.add(z, z, b)
	}
	count := float64(n * z.h * z.w)
	for c := range l.mean {
		mu := l.sums.first[c] / count
		variance := max(0, l.sums.second[c]/count-float64(mu*mu))
		l.mean[c], l.deviation[c] = mu, math.Sqrt(variance+normEpsilon)
		unbiased := variance * count / max(1, count-1)
		l.runMean[c] += float64(runningShare * (mu - l.runMean[c]))
		l.runVar[c] += float64(runningShare * (unbiased - l.runVar[c]))
	}
}

func (l *batchNorm) backward(g, x []float32, n int) {
	z, dy, dz := l.in.value, l.out.grad, l.in.grad
	l.sums.reset()
	for b := range n {
		l.sums.add(dy, z, b)
	}
	count := float64(n * z.h * z.w)
	gamma, dgamma, dbeta := l.gamma.of(x), l.gamma.of(g), l.beta.of(g)
	for c, mu := range l.mean {
		sum, sigma := l.sums.first[c], l.deviation[c]
		dg := (l.sums.second[c] - float64(mu*sum)) / sigma
		k := float64(gamma[c]) / sigma
		p := -k * dg / (sigma * count)
		dgamma[c], dbeta[c] = float32(dg), float32(sum)
		l.gradient.k[c] = float32(k)
		l.gradient.p[c] = float32(p)
		l.gradient.q[c] = float32(-float64(k*sum/count) - float64(p*mu))
	}
	for b := range n {
		l.gradient.apply(dz, dy, z, b)
	}
}
