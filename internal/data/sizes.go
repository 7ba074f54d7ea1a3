package data

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"gossiptrainer/internal/rng"
)

// sizesDomain separates the numbers of sizes from all others under a seed.
const sizesDomain = 0x73697a6573202020 // the letters "sizes   "

// Streams of sizesDomain.
const (
	shareStream = iota // the shares of DirichletShares
	orderStream        // the order in which workers choose, see DirichletSized
	choiceStream
)

// EqualShares returns the same share for every worker.
func EqualShares(workers int) []float64 {
	shares := make([]float64, workers)
	for i := range shares {
		shares[i] = 1
	}
	return shares
}

// PowerShares returns shares in proportion to (i+1)^−exponent for workers i = 0, 1, …: worker 0 has the most. They are
// rounded to multiples of 2⁻²⁴, as dirichletShares are, and may be 0.
func PowerShares(workers int, exponent float64) []float64 {
	shares := make([]float64, workers)
	for i := range shares {
		shares[i] = math.Round(math.Pow(float64(i+1), -exponent)*(1<<24)) / (1 << 24)
	}
	return shares
}

// DirichletShares draws shares from a symmetric Dirichlet distribution. A small alpha makes sizes differ, a large one
// makes them alike; it lies in 1e-6..1e6. A share may be 0.
func DirichletShares(workers int, alpha float64, seed uint64) ([]float64, error) {
	if !(alpha >= minAlpha && alpha <= maxAlpha) {
		return nil, fmt.Errorf("data: sizes: alpha %v: want %v..%v", alpha, minAlpha, maxAlpha)
	}
	shares := make([]float64, workers)
	dirichletShares(shares, alpha, rng.Stream(seed^sizesDomain, shareStream))
	return shares, nil
}

// IIDSized is IID with sizes in proportion to the shares of the workers, at least one row each.
func IIDSized(y Labels, shares []float64, seed uint64) (Partition, error) {
	if err := checkShares(y, shares); err != nil {
		return Partition{}, err
	}
	rows := make([]int, len(y.Of))
	for i := range rows {
		rows[i] = i
	}
	rng.Shuffle(rows, rng.At(rng.Stream(seed^partitionDomain, len(y.Classes)), 0))
	shards := make([][]int, len(shares))
	for i, size := range apportion(len(rows), shares) {
		shards[i], rows = rows[:size:size], rows[size:]
	}
	return newPartition(y, shards), nil
}

// ByLabelSized is ByLabel with sizes in proportion to the shares of the workers. A worker takes equally many rows of
// each of its labels, at least one. The sizes are the largest for which the rows of every label suffice; the rows that
// are left over are not used.
func ByLabelSized(y Labels, shares []float64, perWorker int, seed uint64) (Partition, error) {
	if err := checkShares(y, shares); err != nil {
		return Partition{}, err
	}
	holders, err := holdersOf(y, len(shares), perWorker)
	if err != nil {
		return Partition{}, err
	}
	rows, most := rowsByLabel(y, seed), slices.Max(shares)
	each := func(worker, largest int) int { return max(1, int(float64(float64(largest)*shares[worker])/most)) }
	scarce := func(largest int) bool {
		for label, workers := range holders {
			taken := 0
			for _, worker := range workers {
				taken += each(worker, largest)
			}
			if taken > len(rows[label]) {
				return true
			}
		}
		return false
	}
	largest := sort.Search(len(y.Of), func(i int) bool { return scarce(i + 1) })
	shards := make([][]int, len(shares))
	for label, workers := range holders {
		from := 0
		for _, worker := range workers {
			to := from + each(worker, largest)
			shards[worker] = append(shards[worker], rows[label][from:to]...)
			from = to
		}
	}
	return newPartition(y, shards), nil
}

// DirichletSized gives worker i a part of all rows in proportion to its share, at least one row. Its labels are drawn
// with the chances that Dirichlet deals out: q_c[i]·R_c, with R_c rows of class c. Workers choose one row at a time, in
// random order, of the classes of which rows are left (as T. Hsu et al. do). The last ones take what there is.
func DirichletSized(y Labels, shares []float64, alpha float64, seed uint64) (Partition, error) {
	if err := checkShares(y, shares); err != nil {
		return Partition{}, err
	}
	if err := checkAlpha(alpha); err != nil {
		return Partition{}, err
	}
	workers, rows := len(shares), rowsByLabel(y, seed)
	q := make([]float64, workers)
	chances := make([][]float64, workers)
	for i := range chances {
		chances[i] = make([]float64, len(rows))
	}
	for label := range rows {
		dirichletShares(q, alpha, rng.Stream(seed^partitionDomain, len(y.Classes)+1+label))
		for i := range q {
			chances[i][label] = q[i] * float64(len(rows[label]))
		}
	}
	turns := make([]int, 0, len(y.Of))
	for i, size := range apportion(len(y.Of), shares) {
		turns = append(turns, slices.Repeat([]int{i}, size)...)
	}
	rng.Shuffle(turns, rng.At(rng.Stream(seed^sizesDomain, orderStream), 0))
	draw := rng.At(rng.Stream(seed^sizesDomain, choiceStream), 0)
	shards := make([][]int, workers)
	for turn, i := range turns {
		label := choose(chances[i], rows, positive(draw, uint32(turn)))
		shards[i] = append(shards[i], rows[label][0])
		rows[label] = rows[label][1:]
	}
	return newPartition(y, shards), nil
}

// choose returns a label of which rows are left, with the given chances, for u in (0, 1). If all of these labels have
// the chance 0, their rows have equal chances.
func choose(chances []float64, rows [][]int, u float64) int {
	chance := func(label int) float64 {
		if len(rows[label]) == 0 {
			return 0
		}
		return chances[label]
	}
	sum := 0.0
	for label := range rows {
		sum += chance(label)
	}
	if sum == 0 {
		chance = func(label int) float64 { return float64(len(rows[label])) }
		for label := range rows {
			sum += chance(label)
		}
	}
	rest, last := float64(u*sum), 0
	for label := range rows {
		if p := chance(label); p > 0 {
			if last = label; rest < p {
				break
			}
			rest -= p
		}
	}
	return last
}

// checkShares refuses shares by which rows cannot be divided.
func checkShares(y Labels, shares []float64) error {
	if err := checkWorkers(y, len(shares)); err != nil {
		return err
	}
	for i, share := range shares {
		if !(share >= 0) || math.IsInf(share, 0) {
			return fmt.Errorf("data: sizes: worker %d: share %v: want a finite number of at least 0", i, share)
		}
	}
	if slices.Max(shares) == 0 {
		return errors.New("data: sizes: all shares are 0: want one above 0")
	}
	return nil
}

// apportion divides total ≥ len(shares) rows in proportion to the shares, at least one each. Quotas are rounded down,
// and the largest remainders get the rows that are left (Hamilton's method). Of equal ones the first worker counts.
func apportion(total int, shares []float64) []int {
	sizes, rest := make([]int, len(shares)), total
	quotas := make([]float64, len(shares))
	for again := true; again; { // workers whose quota is below one row get one; the others share the rest
		again = false
		sum := 0.0
		for i, share := range shares {
			if sizes[i] == 0 {
				sum += share
			}
		}
		left := rest
		for i, share := range shares {
			if sizes[i] != 0 {
				continue
			}
			if quotas[i] = float64(float64(left)*share) / sum; quotas[i] < 1 {
				sizes[i], again = 1, true
				rest--
			}
		}
	}
	var open []int
	for i, quota := range quotas {
		if sizes[i] == 0 {
			open = append(open, i)
			sizes[i] = int(quota)
			rest -= sizes[i]
		}
	}
	slices.SortStableFunc(open, func(i, j int) int {
		return compareRemainders(quotas[j], quotas[i])
	})
	for k := range rest {
		sizes[open[k%len(open)]]++
	}
	return sizes
}

// compareRemainders orders quotas by what rounding down takes from them.
func compareRemainders(a, b float64) int { return cmp.Compare(a-math.Floor(a), b-math.Floor(b)) }
