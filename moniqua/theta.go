package moniqua

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Updates describes the updates α_k·g, which drive the models apart, as far as they are known in advance.
type Updates struct {
	Step   func(k int) float64 // α_k ≥ 0
	Rounds int                 // of the run; later rounds are legal but slower to find
	Bound  float64             // G_∞ > 0: bounds every coordinate of the applied g, momentum and weight decay included
	Every  int                 // H, rounds per exchange: models move apart by H updates between exchanges; 0 means 1
}

// every returns H.
func (u Updates) every() int { return max(1, u.Every) }

func (u Updates) check() error {
	if u.Step == nil {
		return errors.New("moniqua: theta rule: no step size")
	}
	if !(u.Bound > 0) || math.IsInf(u.Bound, 0) {
		return fmt.Errorf("moniqua: theta rule: bound %v on the updates: must be finite and greater than 0", u.Bound)
	}
	return nil
}

// Fixed returns the rule θ_k = theta, which must be finite and > 0.
func Fixed(theta float64) (func(k int) float64, error) {
	if !(theta > 0) || math.IsInf(theta, 0) {
		return nil, fmt.Errorf("moniqua: theta %v: must be finite and greater than 0", theta)
	}
	return func(int) float64 { return theta }, nil
}

// Memory returns the number of rounds for which updates have an effect on a graph with ρ = rho in [0, 1): the smallest
// t with e^{−t(1−ρ)} ≤ 1/1000.
func Memory(rho float64) int {
	return int(math.Ceil(math.Log(1000) / (1 - rho)))
}

// A recent keeps the largest value of the last rounds. Values enter by round.
type recent struct {
	rounds  int        // older values are forgotten
	falling []valueFor // those that exceed all later ones
}

type valueFor struct {
	round int
	value float64
}

// add enters the value of round k.
func (r *recent) add(k int, value float64) {
	for len(r.falling) > 0 && r.falling[len(r.falling)-1].value <= value {
		r.falling = r.falling[:len(r.falling)-1]
	}
	r.falling = append(r.falling, valueFor{k, value})
}

// largest returns the largest value of the rounds from k − rounds on, 0 without one.
func (r *recent) largest(k int) float64 {
	for len(r.falling) > 0 && r.falling[0].round < k-r.rounds {
		r.falling = r.falling[1:]
	}
	if len(r.falling) == 0 {
		return 0
	}
	return r.falling[0].value
}

// A stretch is a row of rounds from one on. Their largest steps are those of round of + moves·(k − from): of one round,
// or of rounds that move along with them.
type stretch struct{ from, of, moves int } // moves is 0 or 1

// at returns the round whose step is the largest at round k.
func (s stretch) at(k int) int { return s.of + s.moves*(k-s.from) }

// stretches returns the rounds of the largest steps of a memory, up to u.Rounds.
func stretches(u Updates, memory int) (all []stretch) {
	steps := recent{rounds: memory}
	for k := range u.Rounds {
		steps.add(k, u.Step(k))
		steps.largest(k) // forgets older ones
		of, n := steps.falling[0].round, len(all)
		if n > 0 && k == all[n-1].from+1 && of == all[n-1].of+1 {
			all[n-1].moves = 1
		}
		if n == 0 || of != all[n-1].at(k) {
			all = append(all, stretch{from: k, of: of})
		}
	}
	return all
}

// largestStep returns max α over the rounds k−memory .. k as a function of k. The differences between models at round k
// come from the updates of those rounds. Falling step sizes were larger then than at round k. For the first u.Rounds
// rounds it remembers stretches: a schedule that rises, stands and falls has few of them, however long it is.
func largestStep(u Updates, memory int) func(k int) float64 {
	known := stretches(u, memory)
	return func(k int) float64 {
		if k < u.Rounds {
			i, there := slices.BinarySearchFunc(known, k, func(s stretch, k int) int { return cmp.Compare(s.from, k) })
			if !there {
				i--
			}
			return u.Step(known[i].at(k))
		}
		peak := u.Step(k)
		for t := max(k-memory, 0); t < k; t++ {
			peak = max(peak, u.Step(t))
		}
		return peak
	}
}

// leastStep bounds the fall of θ with the step size: θ is at least so much of its largest value. Below that, grids
// would be finer than the parameters, and at last an index would reach 2³¹. A larger θ is as correct.
const leastStep = 1. / (1 << 12)

// proportional returns the rule θ_k = factor·(largest α in the graph's memory), as long as step sizes do not fall. A
// share of θ, returned in [0, 1), is due to grid errors of the rounds in that memory. Where step sizes fall, these
// errors
// belong to a larger θ. So that share follows the largest θ of the memory:
//
//	θ_k = (1 − returned)·factor·α + returned·max(factor·α, θ of the rounds before)
func proportional(factor, returned, rho float64, u Updates) func(k int) float64 {
	memory := Memory(rho) * u.every()
	largest := largestStep(u, memory)
	factor *= float64(u.every())
	least := 0.0
	for k := range u.Rounds {
		least = max(least, leastStep*u.Step(k))
	}
	tabulate := func(rounds int) []float64 {
		thetas, past := make([]float64, max(rounds, 0)), recent{rounds: memory}
		for k := range thetas {
			theta := factor * max(least, largest(k))
			theta += returned * max(0, past.largest(k)-theta)
			thetas[k] = theta
			past.add(k, theta)
		}
		return thetas
	}
	table := tabulate(u.Rounds)
	return func(k int) float64 {
		if k < len(table) {
			return table[k]
		}
		return tabulate(k + 1)[k]
	}
}

// LargestStep returns the largest step of the last 100 exchanges, H = every rounds
// each, as a function of the round. The differences of neighbours are about
// proportional to it.
func LargestStep(step func(k int) float64, rounds, every int) func(k int) float64 {
	return largestStep(Updates{Step: step, Rounds: rounds}, calm*every)
}
