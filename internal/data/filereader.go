package data

import "math"

// A fileReader reads a set of the user.
type fileReader struct {
	info  Info
	files []rows     // train and test, or one that is split
	where [][]int32  // by file and row: the row of its part; of one file that is split, ^row for a test row
	y     [2][]uint8 // by part
	scale *scaling   // of floats; nil: as they are
}

var _ reader = (*fileReader)(nil)

// A scaling holds mean and deviation of every column, or channel of a picture.
type scaling struct{ Mean, Std []float64 }

func (r *fileReader) labels(p part) ([]uint8, error) { return r.y[p], nil }

func (r *fileReader) fill(p part, b *builder) error {
	return r.visit(p, func(i int, rec record) error {
		label := r.y[p][i]
		if rec.bytes != nil {
			copy(b.bytes(i, label), rec.bytes)
			return nil
		}
		row := b.floats(i, label)
		if row == nil {
			return nil
		}
		copy(row, rec.floats)
		if r.scale != nil {
			channels := r.info.Shape.C
			for k, v := range row {
				c := k % channels
				row[k] = float32((float64(v) - r.scale.Mean[c]) / r.scale.Std[c])
			}
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
		err = atFile(nameOf(r.files[k]), "%w", errChanged)
	}
	return err
}

// standardise measures the train split: mean and deviation of each column, or of each channel of pictures. A column of
// one value keeps its deviation 0 as 1.
func (r *fileReader) standardise() error {
	channels := r.info.Shape.C
	sums := make([]running, channels)
	err := r.visit(trainPart, func(_ int, rec record) error {
		for k, v := range rec.floats {
			sums[k%channels].add(float64(v))
		}
		for k, v := range rec.bytes {
			sums[k%channels].add(float64(v) / 255)
		}
		return nil
	})
	if err != nil {
		return err
	}
	mean, std := make([]float64, channels), make([]float64, channels)
	for c, m := range sums {
		mean[c], std[c] = m.mean, m.deviation()
		if std[c] == 0 {
			std[c] = 1
		}
	}
	if r.info.Norm != nil {
		r.info.Norm = &Normalization{Scale: 255, Mean: mean, Std: std}
	} else {
		r.scale = &scaling{mean, std}
	}
	return nil
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

// deviation returns the standard deviation of the values themselves, not of a larger population.
func (m *running) deviation() float64 {
	if m.n == 0 {
		return 0
	}
	return math.Sqrt(m.squares / m.n)
}
