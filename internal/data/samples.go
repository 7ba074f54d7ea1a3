package data

import "gossiptrainer/model/sample"

// Samples are those of a file of the user, whose classes need not be known.
type Samples struct {
	file    rows
	trained *Trained
}

// OpenSamples opens the file spec.Path for the model spec.Trained, whose scaling is known. Labels are ignored. Where
// the columns have no names, their number shows whether one has the labels.
func OpenSamples(spec FileSpec) (*Samples, error) {
	spec, err := spec.fit()
	if err != nil {
		return nil, err
	}
	labels := []bool{true, false} // whether there are none
	if f, err := sniff(spec.Path); err == nil && (f.name == pictureFolder || f.name == pictureFile) {
		labels = labels[:1]
	}
	for _, bare := range labels {
		spec.Columns.NoLabel = bare
		var f rows
		if f, err = openRows(spec.Path, spec.Columns, trainPart); err == nil {
			err = settleSparse([]rows{f}, spec)
		}
		if err == nil {
			err = spec.Trained.check(f)
		}
		if err == nil {
			return &Samples{f, spec.Trained}, nil
		}
	}
	return nil, err
}

// Names returns the files of pictures, nil for other samples.
func (s *Samples) Names() []string {
	if pictures, ok := s.file.(*imageFolder); ok {
		return pictures.names()
	}
	return nil
}

// Notes returns what people should know of the file once all samples were passed.
func (s *Samples) Notes() []Note { return append(notesOf(s.file), s.trained.notes(s.file, true)...) }

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
			row[k] = s.trained.Norm.number(k, 0, 0)
		}
	}
	for _, f := range r.sparse {
		row[f.index] = s.trained.Norm.number(int(f.index), f.value, float64(f.value))
	}
	for k, v := range r.floats {
		row[k] = s.trained.Norm.number(k%channels, v, r.wideOf(k))
	}
	for k, v := range r.bytes {
		c := k % channels
		row[k] = float32((float64(v)/s.trained.Norm.Scale - s.trained.Norm.Mean[c]) / s.trained.Norm.Std[c])
	}
}
