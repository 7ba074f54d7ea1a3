package modelfile

import (
	"iter"

	"gossiptrainer/internal/score"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
)

// saved are models in files.
type saved struct {
	files      []*train.Replica // as vectors of parameters
	form       model.Form       // of the parameters; nil: the files have the order of memory
	statistics model.Form       // of the running statistics
}

// Replicas returns the final models in files of this run. It reads their headers alone. The error is a
// *train.LayoutError if names or shapes differ.
func (f *Files) Replicas(paths []string) (score.Replicas, error) {
	s := &saved{}
	if f.known && !f.cfg.External() { // only its script knows the names and shapes of another model
		s.form, s.statistics = f.form.Parameters(), f.form.Statistics()
	}
	for _, path := range paths {
		file, err := train.OpenReplica(path)
		if err != nil {
			return nil, err
		}
		if s.form != nil {
			if err := f.Match(train.Saved{Layout: file.Layout()}, path); err != nil {
				return nil, err
			}
			file = file.Of(s.form.Layout())
		}
		s.files = append(s.files, file)
	}
	return s, nil
}

// Size returns the number of files, and the length of their models.
func (s *saved) Size() (models, coordinates int) {
	for i, file := range s.files {
		if i > 0 && file.Len() != coordinates {
			return len(s.files), 0
		}
		coordinates = file.Len()
	}
	return len(s.files), coordinates
}

// Read reads a piece of a file.
func (s *saved) Read(x []float32, i, first int) error { return s.files[i].Read(x, first) }

// Statistics reads those of a file.
func (s *saved) Statistics(i int) ([]float32, error) {
	if len(s.statistics) == 0 {
		return nil, nil
	}
	file := s.files[i].Of(s.statistics.Layout())
	y := make([]float32, file.Len())
	if err := file.Read(y, 0); err != nil {
		return nil, err
	}
	_, statistics := s.statistics.Import(y)
	return statistics, nil
}

// Collect puts the numbers where memory has them.
func (s *saved) Collect(parts iter.Seq[[]float32]) ([]float32, error) {
	if s.form == nil {
		return score.InMemory{}.Collect(parts)
	}
	return s.form.Collect(parts)
}
