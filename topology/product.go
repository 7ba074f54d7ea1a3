package topology

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// exactly is the deviation up to which a product of matrices counts as J.
const exactly = 1e-12

// A product is P = W^(s)…W^(0), which maps the models before exchange 0 to those after exchange s. J = 11ᵀ/n has the
// mean in every row.
type product struct {
	graph *Graph
	p     *mat.Dense
}

func (g *Graph) product() *product {
	p := &product{graph: g, p: mat.NewDense(g.N(), g.N(), nil)}
	for i := range g.N() {
		p.p.Set(i, i, 1)
	}
	return p
}

// exchange multiplies with W^(s) from the left.
func (p *product) exchange(s int) {
	n := p.graph.N()
	next := mat.NewDense(n, n, nil)
	for i, row := range p.graph.Rows(s) {
		to := next.RawRowView(i)
		for c, v := range p.p.RawRowView(i) {
			to[c] = row.Self * v
		}
		for _, e := range row.In {
			for c, v := range p.p.RawRowView(int(e.Peer)) {
				to[c] += e.Weight * v
			}
		}
	}
	p.p = next
}

// deviation returns the largest |P_ij − 1/n|.
func (p *product) deviation() float64 {
	most := 0.0
	for _, v := range p.p.RawMatrix().Data {
		most = max(most, math.Abs(v-1/float64(p.graph.N())))
	}
	return most
}

// maxProduct bounds the graphs whose products are computed in full.
const maxProduct = 1 << 10

// ExactAfter returns after how many exchanges, from exchange 0 on and within a period, all models equal their mean; 0:
// never. It also returns the largest deviation of an entry of their product from 1/n then. Endless kinds are never
// exact. It refuses more than 1024 workers.
func (g *Graph) ExactAfter() (exchanges int, deviation float64, err error) {
	if g.N() > maxProduct {
		return 0, 0, fmt.Errorf("topology: exactness: %d workers: at most %d", g.N(), maxProduct)
	}
	p := g.product()
	for s := range g.Period() {
		p.exchange(s)
		if deviation = p.deviation(); deviation <= exactly {
			return s + 1, deviation, nil
		}
	}
	return 0, 0, nil
}

// maxDistances bounds the graphs whose distances from consensus are computed, each by a singular value decomposition.
const maxDistances = 1 << 8

// Distances returns |W^(s)…W^(0) − J|₂ for s = 0, 1, …: the share of the disagreement of the worst first models that is
// left after s + 1 exchanges. It stops after most exchanges, or when the share is below least. It refuses more than 256
// workers.
func (g *Graph) Distances(most int, least float64) ([]float64, error) {
	n := g.N()
	if n > maxDistances {
		return nil, fmt.Errorf("topology: distances from consensus: %d workers: at most %d", n, maxDistances)
	}
	p, apart := g.product(), mat.NewDense(n, n, nil)
	var all []float64
	for s := range most {
		p.exchange(s)
		apart.Apply(func(_, _ int, v float64) float64 { return v - 1/float64(n) }, p.p)
		var svd mat.SVD
		if !svd.Factorize(apart, mat.SVDNone) {
			return nil, fmt.Errorf("topology: distances from consensus: exchange %d: the singular values did not converge", s)
		}
		all = append(all, svd.Values(nil)[0])
		if all[s] < least {
			break
		}
	}
	return all, nil
}
