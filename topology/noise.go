package topology

// The effect of rounding on the distance of neighbours depends on the spectrum alone.
// See docs/design/2026-11-slack.md for the derivation of both functions.

// Noise returns A(γ), by which mixing with γW + (1−γ)I amplifies rounding errors. The stationary mean square difference
// of neighbours is A(γ) times the mean square difference of their errors. With μ = 1 − λ over the eigenvalues λ of W,
//
//	A(γ) = Σ γμ²/(2 − γμ) / Σ μ
//
// W is that of s, slack included. A lone worker has no neighbour: 0.
func (s Spectrum) Noise(slack float64) float64 {
	return s.overEdges(func(mu float64) float64 { return slack * mu / (2 - slack*mu) })
}

// D2Noise returns the amplification for D² and its half steps z:
//
//	A(γ) = Σ μ·(2 + 3γμ)/(4 − 3γμ) / Σ μ
//
// for slacks below D2MaxSlack. It is above 1/2 for every slack, because D² keeps all it has received, rounding errors
// included.
func (s Spectrum) D2Noise(slack float64) float64 {
	return s.overEdges(func(mu float64) float64 { return (2 + 3*slack*mu) / (4 - 3*slack*mu) })
}

// PairNoise returns the amplification for workers that meet in pairs and go γ/2 of the way to each other, as in
// AD-PSGD: γ/(2 − γ) on any graph.
func PairNoise(slack float64) float64 { return slack / (2 - slack) }

// overEdges returns the mean over the edges, by their weights, of the squared
// differences that a mode of variance f(μ) causes: Σ μ·f(μ) / Σ μ.
func (s Spectrum) overEdges(f func(mu float64) float64) float64 {
	sum, all := 0.0, 0.0
	for _, lambda := range s.Values {
		mu := max(1-lambda, 0)
		sum += mu * f(mu)
		all += mu
	}
	if all == 0 {
		return 0
	}
	return sum / all
}
