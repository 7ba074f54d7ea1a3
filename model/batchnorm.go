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
	normalization
	mean, deviation []float64 // μ, σ of the last batch
	runMean, runVar []float64
}

// runningShare is the weight of the newest batch in the running statistics.
const runningShare = 0.1

func (b *builder) batchNorm(name string, in node, after activation) node {
	c := in.value.c
	l := &batchNorm{
		normalization: b.normalization(name, in, after),
		mean:          make([]float64, c), deviation: make([]float64, c),
		runMean: make([]float64, c), runVar: make([]float64, c),
	}
	for c := range l.runVar {
		l.runVar[c] = 1
	}
	b.layers = append(b.layers, l)
	return l.out
}

func (l *batchNorm) forward(x []float32, n int, m mode) {
	if m == training {
		l.measureBatch(n)
	}
	gamma, beta := l.gamma.of(x), l.beta.of(x)
	for c := range l.mean {
		mu, sigma := l.mean[c], l.deviation[c]
		if m == evaluating {
			mu, sigma = l.runMean[c], math.Sqrt(l.runVar[c]+normEpsilon)
		}
		a := float64(gamma[c]) / sigma
		l.a[c] = float32(a)
		l.b[c] = float32(float64(beta[c]) - float64(mu*a))
	}
	for b := range n {
		l.apply(b)
	}
}

// measureBatch computes μ and σ of the batch and moves the running statistics.
func (l *batchNorm) measureBatch(n int) {
	z := l.in.value
	l.reset()
	for b := range n {
		l.measure(b)
	}
	count := float64(n * z.h * z.w)
	for c := range l.mean {
		mu := l.first[c] / count
		variance := max(0, l.second[c]/count-float64(mu*mu))
		l.mean[c], l.deviation[c] = mu, math.Sqrt(variance+normEpsilon)
		unbiased := variance * count / max(1, count-1)
		l.runMean[c] += float64(runningShare * (mu - l.runMean[c]))
		l.runVar[c] += float64(runningShare * (unbiased - l.runVar[c]))
	}
}

func (l *batchNorm) backward(g, x []float32, n int) {
	z := l.in.value
	l.reset()
	for b := range n {
		l.measureGradient(b)
	}
	count := float64(n * z.h * z.w)
	gamma, dgamma, dbeta := l.gamma.of(x), l.gamma.of(g), l.beta.of(g)
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
	for b := range n {
		l.applyGradient(b)
	}
}
