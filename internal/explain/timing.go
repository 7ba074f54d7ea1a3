package explain

import "gossiptrainer/internal/stats"

// Thresholds of sentences about time. docs/explain.md has the reasons.
const (
	enough = 10 // rounds before a sentence is about more than their start

	slower   = 1.25 // times the median, of a part of a round
	awaited  = 0.4  // of the rounds of the neighbours end with one worker's message
	costly   = 0.1  // of the time
	mostly   = 0.5  // of the waiting is for one neighbour alone
	limited  = 0.9  // of a limit
	used     = 0.5  // of a limit, from which it is felt between pauses
	coding   = 0.2  // of the time
	deprived = 0.75 // of the time in which a process had work
	beside   = 0.15 // of the time
	idle     = 0.4  // of the time is waiting
	busy     = 0.6  // of the time is gradients
	seen     = 0.01 // of the time, from which a percentage shows it
)

// A timing is the time of the rounds of the present workers.
type timing struct {
	*Record
	ranks  []int
	splits map[int]split
}

// median returns the median of a figure over the workers.
func (t *timing) median(of func(split) float64) float64 {
	var figures []float64
	for _, rank := range t.ranks {
		figures = append(figures, of(t.splits[rank]))
	}
	return stats.Median(figures)
}

// Parts of a round, for median.
func compute(s split) float64      { return s.compute }
func codec(s split) float64        { return s.codec }
func rest(s split) float64         { return s.rest() }
func waitShare(s split) float64    { return s.share(s.wait) }
func codecShare(s split) float64   { return s.share(s.codec) }
func computeShare(s split) float64 { return s.share(s.compute) }

// A split is the time of one round of a worker, in seconds. Parts may overlap.
type split struct {
	round, compute, wait, codec float64
}

// split returns the mean of the rounds of a worker, of those that its account covers or else of those on record.
func (w *worker) split() split {
	took := w.Last.Time.Seconds() / float64(max(w.Last.Round, 1))
	if w.first != nil && w.Last.Round > w.first.Round {
		took = (w.Last.Time - w.first.Time).Seconds() / float64(w.Last.Round-w.first.Round)
	}
	if w.Account().Rounds > 0 {
		took = w.Account().Time.Seconds() / float64(max(w.Account().Round, 1))
	}
	spent, rounds := w.Spent()
	n := float64(rounds)
	s := split{took, spent.Compute.Seconds() / n, spent.Wait.Seconds() / n, spent.Codec.Seconds() / n}
	s.round = max(s.round, s.compute, s.wait, s.codec)
	return s
}

// share returns a part of a round as a share of it.
func (s split) share(part float64) float64 {
	if s.round == 0 {
		return 0
	}
	return part / s.round
}

// rest returns the share of a round that is neither gradient nor waiting nor coding.
func (s split) rest() float64 { return max(0, 1-s.share(s.compute+s.wait+s.codec)) }
