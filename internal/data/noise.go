package data

import (
	"cmp"
	"math"
	"slices"

	"gossiptrainer/internal/rng"
)

// noiseDomain separates the numbers of wrong labels from all others under a seed.
const noiseDomain = 0x6e6f697365202020 // the letters "noise   "

// Noise gives some samples of a worker a wrong label on purpose. Each sample has two random numbers, addressed by
// (seed, worker, row): one orders the rows, the other is the new label. The rows that come first are changed. So the
// changed rows of a smaller share are among those of a larger one, and no other worker's setting moves them.
type Noise struct {
	Seed   uint64
	Worker int
	Share  float64 // of the labels, 0..1
}

// Rounds of the numbers of a sample.
const (
	orderRound = iota
	labelRound
)

// Count returns how many labels of a number of samples are changed: the share, rounded to the nearest number.
func (n Noise) Count(samples int) int { return int(math.Round(float64(n.Share * float64(samples)))) }

// Apply returns s with wrong labels, of which there are Count(s.Len()). Each is drawn uniformly from the other labels,
// of which there must be one. Sample k of s is row rows[k] of a larger set, or row k if rows is nil. Samples and labels
// of s do not change.
func (n Noise) Apply(s Set, rows []int) Set {
	count := n.Count(s.Len())
	if count == 0 {
		return s
	}
	row := func(k int) uint32 {
		if rows == nil {
			return uint32(k)
		}
		return uint32(rows[k])
	}
	seed := rng.Stream(n.Seed^noiseDomain, n.Worker)
	order, label := rng.At(seed, orderRound), rng.At(seed, labelRound)
	first := make([]int, s.Len())
	for k := range first {
		first[k] = k
	}
	slices.SortFunc(first, func(a, b int) int {
		return cmp.Or(cmp.Compare(order.Raw(row(a)), order.Raw(row(b))), cmp.Compare(row(a), row(b)))
	})
	s.labels = slices.Clone(s.labels)
	for _, k := range first[:count] {
		other := uint8(uint64(label.Raw(row(k))) * uint64(len(s.Classes)-1) >> 32)
		if other >= s.labels[k] {
			other++
		}
		s.labels[k] = other
	}
	return s
}
