package data

import (
	"cmp"
	"slices"

	"gossiptrainer/model/sample"
)

// Samples are those of a file of the user, whose classes need not be known.
type Samples struct {
	file rows
	norm Normalization
}

// OpenSamples opens the file spec.Path for a model that takes samples as want describes them: by their shape, their
// scaling, and the names of their columns. Labels are ignored. Columns are found by name where both sides have names;
// else their number shows whether the file has a label.
func OpenSamples(spec FileSpec, want Info) (*Samples, error) {
	labelled, bare := spec.Columns, spec.Columns
	bare.NoLabel = true
	all := []Columns{labelled, bare}
	if f, err := openRows(spec.Path, bare, trainPart); err == nil && f.form().named && want.Columns != nil {
		for _, name := range want.Columns {
			if !slices.Contains(f.form().columns, name) {
				return nil, atFile(spec.Path, "there is no column %s among %s, and the model was trained with it", name,
					several(f.form().columns))
			}
		}
		bare.Features, bare.Skip = want.Columns, nil
		all = []Columns{bare}
	}
	spec.Features = want.Shape.Features()
	var failed error
	for _, c := range all {
		f, err := openRows(spec.Path, c, trainPart)
		if err == nil {
			err = settleSparse([]rows{f}, spec)
		}
		if err == nil {
			err = fits(f, want)
		}
		if err == nil {
			return &Samples{f, *want.Norm}, nil
		}
		failed = cmp.Or(failed, err)
	}
	return nil, failed
}

// fits checks that a model takes the samples of a file.
func fits(f rows, want Info) error {
	have, wanted := f.form(), form{shape: want.Shape}
	switch {
	case have.shape != want.Shape:
		return atFile(nameOf(f), "samples of %s values (%s), but the model takes %s", shapeText(have), have.format,
			shapeText(wanted))
	case have.pixels && !want.Pixels:
		return atFile(nameOf(f), "samples are bytes, but the model has learnt from numbers: save them as float32")
	case want.Pixels && !have.pixels:
		return atFile(nameOf(f), "samples are numbers, but the model has learnt from bytes: save them as uint8")
	}
	return nil
}

// Batches passes all samples as the model takes them, at most size at a time. The labels of a batch are 0.
func (s *Samples) Batches(size int, see func(b sample.Batch) error) error {
	shape := s.file.form().shape
	features := shape.Features()
	b := sample.Batch{X: make([]float32, 0, size*features), Y: make([]int32, 0, size)}
	pass := func() error {
		if len(b.Y) == 0 {
			return nil
		}
		err := see(b)
		b.X, b.Y = b.X[:0], b.Y[:0]
		return err
	}
	row := make([]float32, features)
	err := s.file.scan(func(_ int, r record) error {
		s.values(row, r, shape.C)
		b.X, b.Y = append(b.X, row...), append(b.Y, 0)
		if len(b.Y) < size {
			return nil
		}
		return pass()
	}, func(e *CellError) error {
		if e.Reason == noLabel {
			return nil
		}
		return strict(e)
	})
	if err != nil {
		return err
	}
	return pass()
}

// values writes a record as the model takes it.
func (s *Samples) values(row []float32, r record, channels int) {
	if r.floats == nil && r.bytes == nil {
		for k := range row {
			row[k] = s.norm.number(k, 0, 0)
		}
	}
	for _, f := range r.sparse {
		row[f.index] = s.norm.number(int(f.index), f.value, float64(f.value))
	}
	for k, v := range r.floats {
		row[k] = s.norm.number(k%channels, v, r.wideOf(k))
	}
	for k, v := range r.bytes {
		c := k % channels
		row[k] = float32((float64(v)/s.norm.Scale - s.norm.Mean[c]) / s.norm.Std[c])
	}
}
