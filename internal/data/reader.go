package data

import "fmt"

// part names one of the two splits that every set has.
type part int

const (
	trainPart part = iota
	testPart
)

// A reader reads the files of one set.
type reader interface {
	// labels returns the label of every row.
	labels(part) ([]uint8, error)
	// fill gives every wanted row to b.
	fill(part, *builder) error
}

// A builder copies the wanted rows of a file into a set.
type builder struct {
	set  Set
	norm *Normalization
	zero []float32 // a sample of zeros as models see them, nil if these are 0
	at   []int     // by row of the file: position in the set, or −1
}

func newBuilder(info Info, n int, rows []int) (*builder, error) {
	kind := Set{Shape: info.Shape, Classes: info.Classes}
	if info.Pixels {
		kind.table = info.Norm.table()
	}
	b := &builder{norm: info.Norm, at: make([]int, n)}
	if !info.Pixels {
		b.zero = info.zeros()
	}
	if info.Sparse > 0 {
		kind.sparse = &sparseValues{zero: b.zero}
	}
	if rows == nil {
		for i := range b.at {
			b.at[i] = i
		}
		b.set = kind.empty(n)
		return b, nil
	}
	for i := range b.at {
		b.at[i] = -1
	}
	for k, i := range rows {
		if i < 0 || i >= n {
			return nil, fmt.Errorf("data: %s: row %d: the set has only %d rows", info.Name, i, n)
		}
		if b.at[i] >= 0 {
			return nil, fmt.Errorf("data: %s: row %d: requested twice", info.Name, i)
		}
		b.at[i] = k
	}
	b.set = kind.empty(len(rows))
	return b, nil
}

// bytes returns the memory for row i of the file, nil if it is not wanted, and notes its label.
func (b *builder) bytes(i int, label uint8) []uint8 {
	k := b.at[i]
	if k < 0 {
		return nil
	}
	f := b.set.Shape.Features()
	b.set.labels[k] = label
	return b.set.bytes[k*f : (k+1)*f]
}

// sparse takes the values other than 0 of row i into a sparse set.
func (b *builder) sparse(i int, label uint8, features []feature) {
	k := b.at[i]
	if k < 0 {
		return
	}
	b.set.labels[k] = label
	s := b.set.sparse
	s.spans[k] = span{len(s.index), len(s.index) + len(features)}
	for _, f := range features {
		s.index = append(s.index, f.index)
		s.values = append(s.values, b.scaled(int(f.index), f.value, float64(f.value)))
	}
}

// scaled returns a number of column c as models see it.
func (b *builder) scaled(c int, v float32, wide float64) float32 {
	if b.norm == nil {
		return v
	}
	return b.norm.number(c, v, wide)
}

// floats is bytes for a set of floats.
func (b *builder) floats(i int, label uint8) []float32 {
	k := b.at[i]
	if k < 0 {
		return nil
	}
	f := b.set.Shape.Features()
	b.set.labels[k] = label
	return b.set.floats[k*f : (k+1)*f]
}
