package topology

import (
	"fmt"
	"math"
)

// The sums of the certified theta rule for update rules that are linear in their inputs: momentum that sees the mixing,
// for example. The response of a rule to one input shows all that the input will ever do to the models.

// A State is the state of a rule for one coordinate of one worker: the model and one more number.
type State [2]float64

// A Rule is an update rule in which all workers do the same, coordinate by coordinate. Its functions are linear.
type Rule struct {
	// Message returns the coordinate that a worker sends, where u is its update in units of the model, α times the
	// direction.
	Message func(v State, u float64) float64
	// Next returns the state after the exchange, which has moved the message by moved.
	Next func(v State, u, message, moved float64) State
}

// Impulses are the sums of a rule on a graph, for neighbours i and j and all inputs before.
type Impulses struct {
	Input float64 // the largest Σ |response of message_i − message_j|₁ to updates of at most 1
	Error float64 // the same for grid errors e of at most 1, which enter as (W − I)e
	Rho   float64 // in [0, 1): responses shrink by a factor of 1000 within ln(1000)/(1 − Rho) exchanges
}

const (
	impulseRounds = 1 << 20 // for an impulse to die out
	agreed        = 1e-13   // messages that agree to this do not differ any more
)

// Impulses returns the sums of a rule on g. Without edges they are 0. It returns an error if a response does not die
// out, and for Endless kinds.
func (g *Graph) Impulses(r Rule) (Impulses, error) {
	period := g.Period()
	if period == 0 {
		return Impulses{}, fmt.Errorf("topology: %v: impulse sums: the exchanges never repeat: there are none", g.spec)
	}
	w := &responses{rule: r, n: g.N(), rows: make([][]Row, period), pairs: make([][][2]Rank, period)}
	for s := range period {
		w.rows[s] = g.Rows(s)
		if g.links != nil {
			w.pairs[s] = g.exchanging(s)
		}
	}
	if g.links != nil {
		return w.identity(g.spec)
	}
	// W is symmetric: the response of message_i − message_j to all inputs is that of all messages to e_i − e_j.
	var all Impulses
	for _, pair := range g.typicalEdges() {
		w.inject(difference(g.N(), pair), 1)
		input, ok := w.values(w.input, nil)
		grid, also := w.values(nil, w.input)
		if !ok || !also {
			return Impulses{}, lasting(g.spec)
		}
		all.Input, all.Error = max(all.Input, input), max(all.Error, grid)
	}
	all.Rho = w.rho()
	return all, nil
}

func lasting(s Spec) error {
	return fmt.Errorf("topology: %v: an impulse lasts longer than %d exchanges: take another topology.slack or less "+
		"momentum", s, impulseRounds)
}

// responses runs a rule from rest. Its vectors have a row of columns for each worker, one column per impulse.
type responses struct {
	rule  Rule
	n     int
	rows  [][]Row     // by exchange of a period
	pairs [][][2]Rank // by exchange: who decodes whom

	input           []float64
	columns         int
	states          []State
	messages, mixed []float64
	longest         int // exchanges until a thousandth was left
}

// inject sets the impulses of the next run.
func (w *responses) inject(input []float64, columns int) {
	w.input, w.columns = input, columns
	w.messages, w.mixed = make([]float64, len(input)), make([]float64, len(input))
	w.states = make([]State, len(input))
}

// identity returns the sums where every worker gets an impulse of its own at every phase.
func (w *responses) identity(spec Spec) (Impulses, error) {
	unit := make([]float64, w.n*w.n)
	for i := range w.n {
		unit[i*w.n+i] = 1
	}
	inputs, grids := w.totals(), w.totals()
	for phase := range w.rows {
		w.inject(unit, w.n)
		if !w.run(phase, unit, nil, w.add(inputs)) || !w.run(phase, nil, unit, w.add(grids)) {
			return Impulses{}, lasting(spec)
		}
	}
	var all Impulses
	for s := range w.pairs {
		for p := range w.pairs[s] {
			all.Input, all.Error = max(all.Input, inputs[s][p]), max(all.Error, grids[s][p])
		}
	}
	all.Rho = w.rho()
	return all, nil
}

// totals returns a sum for every pair of every exchange.
func (w *responses) totals() [][]float64 {
	all := make([][]float64, len(w.pairs))
	for s, pairs := range w.pairs {
		all[s] = make([]float64, len(pairs))
	}
	return all
}

// add returns a function that adds the differences of the messages of an exchange to totals.
func (w *responses) add(totals [][]float64) func(s int) {
	return func(s int) {
		for p, pair := range w.pairs[s] {
			i, j := w.messages[int(pair[0])*w.columns:], w.messages[int(pair[1])*w.columns:]
			for c := range w.columns {
				totals[s][p] += math.Abs(i[c] - j[c])
			}
		}
	}
}

// values returns the sum of the magnitudes of all messages, and whether they die out.
func (w *responses) values(u, e []float64) (sum float64, ok bool) {
	ok = w.run(0, u, e, func(int) { sum += norm1(w.messages) })
	return sum, ok
}

// run takes the rule from rest at a phase, with the updates u or the grid errors e in its first exchange. It calls seen
// for every exchange, and reports whether all messages agree in the end.
func (w *responses) run(phase int, u, e []float64, seen func(s int)) bool {
	clear(w.states)
	most, calm := 0.0, 0
	for t := range impulseRounds {
		s := (phase + t) % len(w.rows)
		for i := range w.messages {
			w.messages[i] = w.rule.Message(w.states[i], at(u, t, i))
		}
		seen(s)
		apart := w.apart()
		if most = max(most, apart); apart > most/1000 {
			w.longest = max(w.longest, t)
		}
		if calm++; apart > agreed || t == 0 {
			calm = 0
		}
		if calm == 3*len(w.rows)+3 {
			return true
		}
		w.mix(w.rows[s], t, e)
		for i := range w.states {
			w.states[i] = w.rule.Next(w.states[i], at(u, t, i), w.messages[i], w.mixed[i])
		}
	}
	return false
}

// at returns element i of an impulse that enters in exchange 0.
func at(impulse []float64, t, i int) float64 {
	if t > 0 || impulse == nil {
		return 0
	}
	return impulse[i]
}

// mix sets mixed to (W − I)·(messages + e).
func (w *responses) mix(rows []Row, t int, e []float64) {
	for i, row := range rows {
		for c := range w.columns {
			own := i*w.columns + c
			value, moved := w.messages[own]+at(e, t, own), 0.0
			for _, edge := range row.In {
				from := int(edge.Peer)*w.columns + c
				moved += edge.Weight * (w.messages[from] + at(e, t, from) - value)
			}
			w.mixed[own] = moved
		}
	}
}

// apart returns the largest difference of two messages.
func (w *responses) apart() float64 {
	most := 0.0
	for c := range w.columns {
		low, high := math.Inf(1), math.Inf(-1)
		for i := range w.n {
			v := w.messages[i*w.columns+c]
			low, high = min(low, v), max(high, v)
		}
		most = max(most, high-low)
	}
	return most
}

// rho returns the factor by which responses shrink, from the time that they took.
func (w *responses) rho() float64 { return max(0, 1-math.Log(1000)/float64(max(w.longest, 1))) }

// NoiseOf is Noise for a rule: the stationary mean square difference of neighbours, over that of their grid errors.
func (s Spectrum) NoiseOf(r Rule, slack float64) float64 {
	return s.overEdges(func(mu float64) float64 {
		var v State
		sum, e := 0.0, 1.0
		for range impulseRounds {
			message := r.Message(v, 0)
			sum += message * message
			v = r.Next(v, 0, message, -slack*mu*(message+e))
			if e = 0; math.Abs(v[0])+math.Abs(v[1]) < 1e-9 {
				return sum
			}
			if sum > noiseless {
				break
			}
		}
		return math.Inf(1)
	})
}

// noiseless bounds the amplification of rules that never lose rounding errors.
const noiseless = 1e12
