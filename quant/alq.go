package quant

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/rng"
	"gossiptrainer/quant/levels"
)

// Adaptive rounds to a table that follows the compressed vectors: ALQ and AMQ of Faghri et al.,
// "Adaptive Gradient Quantization for Data-Parallel SGD", NeurIPS 2020. In the rounds of its schedule
// the sender fits the table to the very vector of that round, as package levels does it, before it
// compresses it. A sender that compresses nothing in such a round, as with local steps or changing
// bits, fits in its next round.
//
// The first table is uniform; that of AMQ has p = 1/2.
//
// A payload is that of Levels and then the fitted levels, those between 0 and 1, as floats: 4·(2^(b−1)
// − 2) bytes, or 4·(2^(b−1) − 1) in the form Symmetric. Every payload contains the table, and the
// sender rounds by its floats too. It takes 8 bytes for 3 bits and 504 for 8. Otherwise a receiver
// would have to keep a table for each sender, and would lack it after it joined, restarted or missed a
// message. So AddTo needs nothing but the payload.
//
// LInf is the norm for it: divided by the Euclidean length of a large bucket, all values are far below
// the level 1, which would then be useless.
type Adaptive struct {
	levels *Levels
	fit    Fit
	at     []int
	every  int
	latest int // the round of the last fit, -1 before the first

	own     Table // the table of the sender
	other   Table // scratch: the table being fitted or read
	chosen  []uint32
	buckets []levels.Bucket
}

// A Fit is a way to choose the table.
type Fit int

// The fits of the paper. N stands for normal: one distribution with the average
// statistics of the buckets instead of a mixture weighted by squared norms.
const (
	ALQ   Fit = iota // coordinate descent
	ALQN             // the same, from averages
	ALQG             // gradient descent
	ALQGN            // the same, from averages
	AMQ              // powers of one fitted number; Symmetric only
	AMQN             // the same, from averages
)

// String returns the name of f in run files.
func (f Fit) String() string {
	return [...]string{"alq", "alqn", "alqg", "alqgn", "amq", "amqn"}[f]
}

// fitBuckets is the largest number of buckets in a fit.
const fitBuckets = 20

// fitStream makes the choice of buckets independent of the rounding.
const fitStream = 0xA19

// AdaptiveOptions are the settings of Adaptive, except the rounds of Refit.
type AdaptiveOptions struct {
	Fit    Fit
	Bits   int  // per coordinate, 2 to 8, sign included; without effect where Levels is given
	Levels int  // 0: 2^Bits symbols; else odd from 3 to 255, or even from 4 to 256 if Symmetric
	Bucket int  // coordinates of a bucket, 0: the whole vector
	Norm   Norm // of a bucket
	Form   Form // Symmetric for AMQ and AMQN
}

// NewAdaptive returns the compressor. seed is the worker's own stream, rng.Stream(seed, rank). Its
// table does not change before a call of Refit.
func NewAdaptive(o AdaptiveOptions, seed uint64) (*Adaptive, error) {
	h, symbols := (o.Levels+1)/2, o.Levels
	switch {
	case o.Levels != 0:
		if err := checkLevels(o.Fit.String(), o.Levels, o.Form); err != nil {
			return nil, err
		}
	case o.Bits < 2 || o.Bits > 8:
		return nil, fmt.Errorf("quant: %v: %d bits: must be 2 to 8", o.Fit, o.Bits)
	default:
		h, symbols = 1<<(o.Bits-1), 1<<o.Bits
	}
	start := levels.Uniform(levels.Form(o.Form), h)
	if o.Fit == AMQ || o.Fit == AMQN {
		if o.Form != Symmetric {
			return nil, fmt.Errorf("quant: %v: a table with zero: it has none, the variant must be sym", o.Fit)
		}
		start = levels.Exponential(levels.Symmetric, h, 0.5)
	}
	for j, level := range start {
		start[j] = float64(float32(level))
	}
	a := &Adaptive{fit: o.Fit, latest: -1, own: tableOf(o.Form, start), other: tableOf(o.Form, start)}
	var err error
	a.levels, err = newLevels(o.Fit.String(), a.own, symbols, design{size: o.Bucket, seed: seed}, o.Norm)
	return a, err
}

// Refit sets the rounds of fits: those in at, and after them every multiple of every; 0 stands for no
// more. The paper has 100, 2000 and then every 10000.
func (a *Adaptive) Refit(at []int, every int) error {
	for _, k := range at {
		if k < 0 {
			return fmt.Errorf("quant: %v: a fit in round %d: must be at least 0", a.fit, k)
		}
	}
	if every < 0 {
		return fmt.Errorf("quant: %v: a fit every %d rounds: must be at least 1, or 0 for none", a.fit, every)
	}
	a.at, a.every = slices.Sorted(slices.Values(at)), every
	return nil
}

// due reports whether the schedule has a round since the last fit, up to k.
func (a *Adaptive) due(k int) bool {
	i, found := slices.BinarySearch(a.at, k)
	if found {
		i++
	}
	scheduled := -1
	if i > 0 {
		scheduled = a.at[i-1]
	}
	if i == len(a.at) && a.every > 0 && k >= a.every {
		scheduled = max(scheduled, k-k%a.every)
	}
	return scheduled > a.latest
}

// Scale makes it a contraction, see Levels.
func (a *Adaptive) Scale() error { return a.levels.Scale() }

// Clip limits its input to c standard deviations, see Levels.
func (a *Adaptive) Clip(c float64) error { return a.levels.Clip(c) }

// Properties: unbiased for any table, unless clipped or scaled.
func (a *Adaptive) Properties() Properties { return a.levels.Properties() }

// Variance returns E |C(z) − z|² with the present table, see Levels.
func (a *Adaptive) Variance(z []float32) float64 {
	a.use(a.own)
	return a.levels.Variance(z)
}

// Table returns a copy of the sender's table.
func (a *Adaptive) Table() Table { return Table{a.own.Form, slices.Clone(a.own.Levels)} }

// Bits returns the bits of a symbol, see Levels.
func (a *Adaptive) Bits() int { return a.levels.Bits() }

// Len returns the bytes of a payload of d coordinates.
func (a *Adaptive) Len(d int) int {
	if d == 0 {
		return 0
	}
	return 4*len(a.own.free()) + a.levels.Len(d)
}

// Compress fits the table if a fit is due, and appends the buckets of z and the table. A norm beyond
// the range of float32 is an error, after which the table is the old one.
func (a *Adaptive) Compress(dst []byte, k int, z []float32) ([]byte, error) {
	if len(z) == 0 {
		return dst, nil
	}
	table, fitted := a.own, a.due(k)
	if fitted {
		if err := checkVector(a.levels.name, k, z); err != nil {
			return dst, err
		}
		if err := a.refit(k, z); err != nil {
			return dst, err
		}
		table = a.other
	}
	a.use(table)
	dst = slices.Grow(dst, a.Len(len(z)))
	dst, err := a.levels.Compress(dst, k, z)
	if err != nil {
		return dst, err
	}
	for _, level := range table.free() {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(level)))
	}
	if fitted {
		a.own, a.other, a.latest = a.other, a.own, k
	}
	return dst, nil
}

// refit sets other to the table that suits z best, rounded to floats. It uses at most fitBuckets
// buckets, all equally likely.
func (a *Adaptive) refit(k int, z []float32) error {
	b := &a.levels.bucketed
	n := 1
	if b.size > 0 {
		n = (len(z) + b.size - 1) / b.size
	}
	a.chosen = rng.RandomK(a.chosen[:0], rng.Stream(b.seed, fitStream), k, n, min(n, fitBuckets))
	a.buckets = a.buckets[:0]
	for _, i := range a.chosen {
		first := int(i) * b.size
		bucket, err := b.measure(z[first:b.end(first, len(z))])
		if err != nil {
			return fmt.Errorf("quant: %v: round %d: bucket at %d: %w", a.fit, k, first, err)
		}
		a.buckets = append(a.buckets, levels.Observe(bucket, float64(b.header[0])))
	}
	for j, level := range a.fitted() {
		a.other.magnitudes()[j] = float64(float32(level))
	}
	a.other.mirror()
	return nil
}

// fitted returns the magnitudes for the observed buckets.
func (a *Adaptive) fitted() []float64 {
	m := levels.Weighted(a.buckets)
	if a.fit == ALQN || a.fit == ALQGN || a.fit == AMQN {
		m = levels.Averaged(a.buckets)
	}
	form, h := levels.Form(a.own.Form), len(a.own.magnitudes())
	switch a.fit {
	case ALQ, ALQN:
		return levels.ALQ(form, h, m)
	case ALQG, ALQGN:
		return levels.ALQG(form, h, m)
	}
	return levels.AMQ(h, m, a.own.magnitudes()[h-2])
}

// use makes table the table of the next payload.
func (a *Adaptive) use(table Table) {
	if err := a.levels.SetTable(table); err != nil {
		panic("internal error: " + err.Error()) // fits and Check prevent this
	}
}

// Check returns an error unless payload holds the buckets of d coordinates and a table.
func (a *Adaptive) Check(d int, payload []byte) error {
	buckets, err := a.read(d, payload)
	if err != nil {
		return err
	}
	return a.levels.Check(d, buckets)
}

// Bound returns the bound of the buckets: levels are at most 1.
func (a *Adaptive) Bound(d int, payload []byte) float32 { return a.levels.Bound(d, payload) }

// AddTo adds w times the values of the symbols to acc.
func (a *Adaptive) AddTo(acc []float32, w float32, k int, payload []byte) error {
	buckets, err := a.read(len(acc), payload)
	if err != nil {
		return err
	}
	a.use(a.other)
	return a.levels.AddTo(acc, w, k, buckets)
}

// read sets other to the table of payload and returns the bytes before the table.
func (a *Adaptive) read(d int, payload []byte) ([]byte, error) {
	if err := checkLen(a.levels.name, payload, a.Len(d), d); err != nil || d == 0 {
		return nil, err
	}
	free := a.other.free()
	buckets, table := payload[:a.levels.Len(d)], payload[a.levels.Len(d):]
	for i := range free {
		free[i] = float64(float32At(table, i))
	}
	a.other.mirror()
	if err := a.other.Check(); err != nil {
		return nil, fmt.Errorf("quant: %v: %w", a.fit, err)
	}
	return buckets, nil
}

// State visits the sender's table and the round of its fit.
func (a *Adaptive) State(v *state.Visit) {
	state.Int(v, "latest", &a.latest, -1, math.MaxInt)
	v.Doubles("table", a.own.Levels)
	if err := a.own.Check(); err != nil {
		v.Fail("table", err)
	}
}
