package data

// Label skew by Dirichlet draws: T. Hsu, H. Qi, M. Brown, "Measuring the effects
// of non-identical data distribution for federated visual classification" (2019),
// in the form of M. Yurochkin et al., "Bayesian nonparametric federated learning
// of neural networks" (2019): the rows of each class c are dealt out by
//
//	q_c ~ Dirichlet(α, …, α),   q_c[i] = G_i / Σ_j G_j,   G_i ~ Gamma(α)

import (
	"fmt"
	"math"

	"gossiptrainer/internal/rng"
)

// Range of alpha. At its ends workers differ as much, or as little, as possible.
const minAlpha, maxAlpha = 1e-6, 1e6

// Dirichlet deals out the rows of every class by shares drawn from a symmetric Dirichlet
// distribution. A small alpha makes workers differ, a large one makes them alike; it lies in
// 1e-6..1e6. All rows are used. A worker that would get nothing gets one row of the largest
// shard.
func Dirichlet(y Labels, workers int, alpha float64, seed uint64) (Partition, error) {
	if err := checkWorkers(y, workers); err != nil {
		return Partition{}, err
	}
	if err := checkAlpha(alpha); err != nil {
		return Partition{}, err
	}
	shards := make([][]int, workers)
	shares := make([]float64, workers)
	for label, rows := range rowsByLabel(y, seed) {
		dirichletShares(shares, alpha, rng.Stream(seed^partitionDomain, len(y.Classes)+1+label))
		sum, from := 0.0, 0
		for i, share := range shares {
			sum += share
			to := min(int(math.Round(sum*float64(len(rows)))), len(rows))
			if i == workers-1 {
				to = len(rows)
			}
			shards[i] = append(shards[i], rows[from:to]...)
			from = to
		}
	}
	feedEmpty(shards)
	return newPartition(y, shards), nil
}

func checkAlpha(alpha float64) error {
	if !(alpha >= minAlpha && alpha <= maxAlpha) {
		return fmt.Errorf("data: dirichlet: alpha %v: want %v..%v", alpha, minAlpha, maxAlpha)
	}
	return nil
}

// feedEmpty moves one row of the largest shard, the first among equals, to each empty shard.
func feedEmpty(shards [][]int) {
	for i := range shards {
		if len(shards[i]) > 0 {
			continue
		}
		largest := 0
		for j := range shards {
			if len(shards[j]) > len(shards[largest]) {
				largest = j
			}
		}
		last := len(shards[largest]) - 1
		shards[i] = append(shards[i], shards[largest][last])
		shards[largest] = shards[largest][:last]
	}
}

// dirichletShares fills q with a draw. Logarithms keep small alpha from
// underflowing. Shares are rounded to multiples of 2⁻²⁴, so that the last bit of a
// mathematical function, which may differ between processors, moves no row.
func dirichletShares(q []float64, alpha float64, seed uint64) {
	top := math.Inf(-1)
	for i := range q {
		q[i] = logGamma(alpha, rng.At(seed, i))
		top = max(top, q[i])
	}
	sum := 0.0
	for i := range q {
		q[i] = math.Exp(q[i] - top)
		sum += q[i]
	}
	for i := range q {
		q[i] = math.Round(q[i]/sum*(1<<24)) / (1 << 24)
	}
}

// logGamma draws the logarithm of a Gamma(shape) variable: G. Marsaglia and
// W. W. Tsang, "A simple method for generating gamma variables" (2000), with
// Gamma(a) = Gamma(a+1)·U^(1/a) for a < 1.
func logGamma(shape float64, draw rng.Key) float64 {
	boost := 0.0
	if shape < 1 {
		boost = math.Log(positive(draw, 0)) / shape
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for i := uint32(1); ; i += 3 {
		x := math.Sqrt(-2*math.Log(positive(draw, i))) * math.Cos(2*math.Pi*positive(draw, i+1))
		v := 1 + c*x
		v = v * v * v
		if v > 0 && math.Log(positive(draw, i+2)) < x*x/2+d-d*v+d*math.Log(v) {
			return boost + math.Log(d) + math.Log(v)
		}
	}
}

// positive returns a number in (0, 1).
func positive(draw rng.Key, i uint32) float64 { return (float64(draw.Raw(i)) + 0.5) / (1 << 32) }
