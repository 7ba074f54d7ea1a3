package data

import (
	"encoding/binary"
	"math"
	"slices"

	"gossiptrainer/model/sample"
)

// A Normalization maps a stored value v of channel c, or of column c of a table, to
// (v/Scale − Mean[c]) / Std[c].
type Normalization struct {
	Scale float64   `json:"scale"` // 1 for numbers
	Mean  []float64 `json:"mean"`
	Std   []float64 `json:"std"`
}

// table returns the image of every byte, channel after channel.
func (n Normalization) table() []float32 {
	t := make([]float32, 0, 256*len(n.Mean))
	for c := range n.Mean {
		for v := range 256 {
			t = append(t, float32((float64(v)/n.Scale-n.Mean[c])/n.Std[c]))
		}
	}
	return t
}

// number returns a number of a table as models see it, which a file has with 64 bits.
func (n *Normalization) number(c int, v float32, wide float64) float32 {
	if v != v { // missing: the mean
		return 0
	}
	if !n.fine(c) {
		wide = float64(v)
	}
	return float32((wide - n.Mean[c]) / n.Std[c])
}

// fineRatio is a mean in deviations from which on numbers of 32 bits have fewer than ten bits of the deviation. Unix
// times are an example.
const fineRatio = 1 << 14

// fine reports whether numbers of column c need 64 bits.
func (n *Normalization) fine(c int) bool { return math.Abs(n.Mean[c]) > fineRatio*n.Std[c] }

// A Set is a list of labelled samples in memory. Pixels stay bytes and are normalised when they are read. Numbers are
// float32 as models see them; of sparse samples those are kept that a file has.
type Set struct {
	Shape   sample.Shape
	Classes []string // names; class c has label c

	labels []uint8
	bytes  []uint8       // Shape.Features() per sample, or
	floats []float32     // the same
	table  []float32     // of bytes, see Normalization.table
	sparse *sparseValues // in place of bytes and floats
}

// Len returns the number of samples.
func (s Set) Len() int { return len(s.labels) }

// Identity tells sets that have samples apart: it is the same for copies that share their memory.
func (s Set) Identity() *uint8 { return &s.labels[0] }

// Label returns the label of sample i, 0..len(Classes)−1.
func (s Set) Label(i int) int { return int(s.labels[i]) }

// Labels returns all labels.
func (s Set) Labels() Labels { return Labels{Of: s.labels, Classes: s.Classes} }

// Sample writes sample i, normalised and in row-major HWC order, into dst, which
// must have Shape.Features() values.
func (s Set) Sample(dst []float32, i int) {
	f := s.Shape.Features()
	dst = dst[:f]
	if s.sparse != nil {
		s.sparse.sample(dst, i)
		return
	}
	if s.floats != nil {
		copy(dst, s.floats[i*f:(i+1)*f])
		return
	}
	row := s.bytes[i*f : (i+1)*f]
	if s.Shape.C == 1 {
		look(dst, row, (*[256]float32)(s.table))
		return
	}
	for k, v := range row {
		dst[k] = s.table[k%s.Shape.C<<8|int(v)]
	}
}

// look writes the values of the bytes of a row to dst, of the same length. It reads eight bytes at a time.
func look(dst []float32, row []uint8, table *[256]float32) {
	for len(row) >= 8 && len(dst) >= 8 {
		word := binary.LittleEndian.Uint64(row)
		dst[0], dst[1] = table[uint8(word)], table[uint8(word>>8)]
		dst[2], dst[3] = table[uint8(word>>16)], table[uint8(word>>24)]
		dst[4], dst[5] = table[uint8(word>>32)], table[uint8(word>>40)]
		dst[6], dst[7] = table[uint8(word>>48)], table[uint8(word>>56)]
		dst, row = dst[8:], row[8:]
	}
	for k, v := range row {
		dst[k] = table[v]
	}
}

// Gather fills b with the samples of the given rows, in that order. It allocates only when b has never been that large.
func (s Set) Gather(b *sample.Batch, rows []int) {
	s.resize(b, len(rows))
	f := s.Shape.Features()
	for k, i := range rows {
		s.Sample(b.X[k*f:(k+1)*f], i)
		b.Y[k] = int32(s.labels[i])
	}
}

// Range fills b with the samples from..to−1, as Gather does.
func (s Set) Range(b *sample.Batch, from, to int) {
	s.resize(b, to-from)
	f := s.Shape.Features()
	for k := range b.Y {
		s.Sample(b.X[k*f:(k+1)*f], from+k)
		b.Y[k] = int32(s.labels[from+k])
	}
}

func (s Set) resize(b *sample.Batch, n int) {
	f := s.Shape.Features()
	b.X = slices.Grow(b.X[:0], n*f)[:n*f]
	b.Y = slices.Grow(b.Y[:0], n)[:n]
}

// Subset returns a copy of the given rows, in that order, so that the other rows can be freed.
func (s Set) Subset(rows []int) Set {
	sub := s.empty(len(rows))
	for k, i := range rows {
		sub.copyRow(k, s, i)
	}
	return sub
}

// Concat returns one set with the samples of all, which must be of one kind.
func Concat(sets []Set) Set {
	if len(sets) == 1 {
		return sets[0]
	}
	n := 0
	for _, s := range sets {
		n += s.Len()
	}
	all, k := sets[0].empty(n), 0
	for _, s := range sets {
		for i := range s.Len() {
			all.copyRow(k, s, i)
			k++
		}
	}
	return all
}

// empty returns a set of n blank samples of the same kind.
func (s Set) empty(n int) Set {
	f := s.Shape.Features()
	s.labels = make([]uint8, n)
	switch {
	case s.sparse != nil:
		s.sparse = &sparseValues{spans: make([]span, n), zero: s.sparse.zero}
	case s.table != nil:
		s.bytes = make([]uint8, n*f)
	default:
		s.floats = make([]float32, n*f)
	}
	return s
}

func (s Set) copyRow(k int, from Set, i int) {
	f := s.Shape.Features()
	s.labels[k] = from.labels[i]
	switch {
	case s.sparse != nil:
		s.sparse.copyRow(k, from.sparse, i)
	case s.table != nil:
		copy(s.bytes[k*f:(k+1)*f], from.bytes[i*f:])
	default:
		copy(s.floats[k*f:(k+1)*f], from.floats[i*f:])
	}
}
