package data

import "math"

// A fileReader reads a set of the user.
type fileReader struct {
	info  Info
	files []rows     // train and test, or one that is split
	where [][]int32  // by file and row: the row of its part; of one file that is split, ^row for a test row
	y     [2][]uint8 // by part
}

var _ reader = (*fileReader)(nil)

func (r *fileReader) labels(p part) ([]uint8, error) { return r.y[p], nil }

func (r *fileReader) fill(p part, b *builder) error {
	return r.visit(p, func(i int, rec record) error {
		label := r.y[p][i]
		if rec.bytes != nil {
			copy(b.bytes(i, label), rec.bytes)
			return nil
		}
		if b.set.sparse != nil {
			b.sparse(i, label, rec.sparse)
			return nil
		}
		row := b.floats(i, label)
		if row == nil {
			return nil
		}
		copy(row, b.zero)
		for _, f := range rec.sparse {
			row[f.index] = b.scaled(int(f.index), f.value, float64(f.value))
		}
		for k, v := range rec.floats {
			row[k] = b.scaled(k%r.info.Shape.C, v, rec.wideOf(k))
		}
		return nil
	})
}

// visit passes the rows of a part, numbered in it.
func (r *fileReader) visit(p part, see func(i int, rec record) error) error {
	k := int(p)
	if len(r.files) == 1 {
		k = 0
	}
	where, seen := r.where[k], 0
	err := r.files[k].scan(func(i int, rec record) error {
		if i >= len(where) {
			return errChanged
		}
		seen++
		at := where[i]
		switch {
		case len(r.files) == 1 && p == testPart && at < 0:
			at = ^at
		case len(r.files) == 1 && p == testPart || at < 0:
			return nil
		}
		return see(int(at), rec)
	}, strict)
	if err == nil && seen != len(where) {
		err = atFile(r.files[k].file(), "%w", errChanged)
	}
	return err
}

// standardise measures the train split: mean and deviation of each column, or of each channel of pictures. A column of
// one value keeps its deviation 0 as 1.
func (r *fileReader) standardise() error {
	channels := r.info.Shape.C
	sums, fine := make([]running, channels), make([]running, channels)
	err := r.visit(trainPart, func(_ int, rec record) error {
		for k, v := range rec.floats {
			if v == v {
				sums[k%channels].add(float64(v))
			}
		}
		if rec.floats == nil && rec.bytes == nil {
			addSparse(sums, rec.sparse)
		}
		for k, v := range rec.wide {
			if v == v {
				fine[k%channels].add(v)
			}
		}
		for k, v := range rec.bytes {
			sums[k%channels].add(float64(v) / 255)
		}
		return nil
	})
	if err != nil {
		return err
	}
	n := &Normalization{Scale: 1}
	if r.info.Norm != nil {
		n.Scale = r.info.Norm.Scale
	}
	for c, m := range sums {
		n.Mean, n.Std = append(n.Mean, m.mean), append(n.Std, m.spread())
		if exact := fine[c]; exact.n > 0 && math.Abs(exact.mean) > fineRatio*exact.spread() {
			n.Mean[c], n.Std[c] = exact.mean, exact.spread()
		}
	}
	r.info.Norm = n
	return nil
}

// addSparse adds a sample, given by its nonzero values.
func addSparse(sums []running, features []feature) {
	for c := range sums {
		v := 0.
		if len(features) > 0 && int(features[0].index) == c {
			v, features = float64(features[0].value), features[1:]
		}
		sums[c].add(v)
	}
}

// running has count, mean and squared deviations of values, by the method of B. P. Welford, "Note on a method for
// calculating corrected sums of squares and products" (1962).
type running struct{ n, mean, squares float64 }

func (m *running) add(v float64) {
	m.n++
	d := v - m.mean
	m.mean += d / m.n
	m.squares += d * (v - m.mean)
}

// addZeros adds n values 0.
func (m *running) addZeros(n float64) {
	if all := m.n + n; all > 0 {
		m.squares += m.mean * m.mean * m.n * n / all
		m.mean, m.n = m.mean*m.n/all, all
	}
}

// deviation returns the standard deviation of the values themselves, not of a larger population.
func (m *running) deviation() float64 {
	if m.n == 0 {
		return 0
	}
	return math.Sqrt(m.squares / m.n)
}

// spread is deviation, and 1 where that is 0.
func (m *running) spread() float64 {
	if d := m.deviation(); d > 0 {
		return d
	}
	return 1
}
