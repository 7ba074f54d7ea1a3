package topology

import "math"

// sampled bounds the workers of a graph whose noise and decay are computed. Both grow with the logarithm of the number
// of workers at most, so those of a smaller graph of the kind stand for larger ones.
const sampled = 1 << 7

// sample returns g, or a smaller graph of its kind.
func (g *Graph) sample() *Graph {
	if g.links == nil || g.N() <= sampled {
		return g
	}
	s := g.spec
	s.N = sampled
	smaller := &Graph{spec: s, family: g.family, links: g.family.links(s)}
	smaller.reach = smaller.findReach
	return smaller
}

// exchangesSeen is the number of exchanges that noise and decay look at.
func (g *Graph) exchangesSeen() int {
	if period := g.Period(); period > 0 {
		return 2*period - 1 + period*(lookBack/period)
	}
	return lookBack
}

const lookBack = 40

// Decay returns the factor per exchange by which differences between workers shrink on a graph that is not static, in
// [0, 1): over a few periods, or 40 exchanges.
func (g *Graph) Decay() (float64, error) {
	d, err := g.sample().Distances(g.exchangesSeen(), exactly)
	if err != nil || len(d) == 0 {
		return 0, err
	}
	most := 2*g.Period() - 1 // an exact period lies in any window of this length
	return math.Pow(max(d[len(d)-1], exactly), 1/float64(max(len(d), most))), nil
}

// Noise is Spectrum.Noise of a graph that is not static. Its matrices have the given slack in place of their own. It
// takes the exchange with the largest noise.
func (g *Graph) Noise(slack float64) float64 {
	small := g.sample()
	s := small.spec
	s.Slack = slack
	g = &Graph{spec: s, family: g.family, links: small.links}
	n := g.N()
	covariance, next := make([]float64, n*n), make([]float64, n*n)
	most := 0.0
	for at := range g.exchangesSeen() {
		rows := g.Rows(at)
		if at >= g.exchangesSeen()/2 {
			most = max(most, meanDifference(covariance, rows))
		}
		// W·C·Wᵀ + (W − I)(W − I)ᵀ: mixing passes differences on, and adds those of the errors.
		for i := range n {
			covariance[i*n+i]++
		}
		spread(next, covariance, rows)
		for i, row := range rows {
			// W(C + I)Wᵀ − W − Wᵀ + I is the sum above
			for j, other := range rows {
				next[i*n+j] -= row.at(Rank(j), i) + other.at(Rank(i), j)
			}
			next[i*n+i]++
		}
		covariance, next = next, covariance
	}
	return most
}

// at returns W_ij of the row of worker i.
func (r Row) at(j Rank, i int) float64 {
	if int(j) == i {
		return r.Self
	}
	for _, e := range r.In {
		if e.Peer == j {
			return e.Weight
		}
	}
	return 0
}

// spread computes dst ← W·c·Wᵀ.
func spread(dst, c []float64, rows []Row) {
	n := len(rows)
	half := make([]float64, n*n)
	for i, row := range rows {
		for j := range n {
			sum := row.Self * c[i*n+j]
			for _, e := range row.In {
				sum += e.Weight * c[int(e.Peer)*n+j]
			}
			half[i*n+j] = sum
		}
	}
	for j, row := range rows {
		for i := range n {
			sum := row.Self * half[i*n+j]
			for _, e := range row.In {
				sum += e.Weight * half[i*n+int(e.Peer)]
			}
			dst[i*n+j] = sum
		}
	}
}

// meanDifference returns the mean of E(x_i − x_j)²/2 over the pairs that exchange.
func meanDifference(c []float64, rows []Row) float64 {
	n, sum, pairs := len(rows), 0.0, 0
	for i, row := range rows {
		for _, e := range row.In {
			j := int(e.Peer)
			sum += (c[i*n+i] + c[j*n+j] - 2*c[i*n+j]) / 2
			pairs++
		}
	}
	if pairs == 0 {
		return 0
	}
	return sum / float64(pairs)
}
