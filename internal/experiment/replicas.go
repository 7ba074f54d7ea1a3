package experiment

import (
	"fmt"
	"iter"
	"math"

	"gossiptrainer/internal/train"
	"gossiptrainer/model"
)

// Replicas are the final models of a run, which are read in pieces.
type Replicas interface {
	// Size returns how many there are, and their length: 0 if it is not the same for all.
	Size() (models, coordinates int)
	// Read fills x with model i from a coordinate on. All models have their coordinates in the same order.
	Read(x []float32, i, first int) error
	// Collect returns the flat vector of a model from its parts in that order, which share memory. It fails if some are
	// missing.
	Collect(parts iter.Seq[[]float32]) ([]float32, error)
}

// InMemory are the final models by rank; nil for those that are missing.
type InMemory [][]float32

// Size counts the models that exist.
func (m InMemory) Size() (models, coordinates int) {
	for i, x := range m.there() {
		if i > 0 && len(x) != coordinates {
			return len(m.there()), 0
		}
		coordinates, models = len(x), models+1
	}
	return models, coordinates
}

// there returns the models that exist.
func (m InMemory) there() (all [][]float32) {
	for _, x := range m {
		if x != nil {
			all = append(all, x)
		}
	}
	return all
}

// Read copies a piece of a model.
func (m InMemory) Read(x []float32, i, first int) error {
	for _, own := range m {
		if own == nil {
			continue
		}
		if i == 0 {
			copy(x, own[first:])
			return nil
		}
		i--
	}
	return fmt.Errorf("experiment: internal error: model %d is missing", i)
}

// Collect returns the parts, joined.
func (m InMemory) Collect(parts iter.Seq[[]float32]) (all []float32, err error) {
	_, n := m.Size()
	all = make([]float32, 0, n)
	for part := range parts {
		all = append(all, part...)
	}
	return all, nil
}

// saved are models in files.
type saved struct {
	files []*train.Replica
	form  model.Form // nil: the files have the order of memory
}

// Saved returns the final models in files of this run. It reads their headers alone. The error is a *train.LayoutError
// if names or shapes differ.
func (r *Run) Saved(paths []string) (Replicas, error) {
	s := &saved{}
	if r.dim > 0 && !r.cfg.External() { // only its script knows the names and shapes of another model
		s.form = r.files.form.Parameters()
	}
	for _, path := range paths {
		file, err := train.OpenReplica(path)
		if err != nil {
			return nil, err
		}
		if s.form != nil {
			if err := r.MatchModel(train.Saved{Layout: file.Layout()}, path); err != nil {
				return nil, err
			}
			file.Take(s.form.Layout())
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

// Collect puts the numbers where memory has them.
func (s *saved) Collect(parts iter.Seq[[]float32]) ([]float32, error) {
	if s.form == nil {
		return InMemory{}.Collect(parts)
	}
	return s.form.Collect(parts)
}

// Bounds of the coordinates that are averaged at a time: so many of each model, of all models together, and at least.
const (
	pieceLen  = 1 << 16
	allPieces = 1 << 24
	leastLen  = 1 << 10
)

// average tells yield the mean of replicas piece by piece, summed in float64 in their order. It returns the largest
// distance of a replica to the mean, max_i |x_i − x̄|_∞. It needs one piece of each replica in memory.
func average(all Replicas, yield func(mean []float32) bool) (consensus float64, err error) {
	models, dim := all.Size()
	n := min(dim, pieceLen, max(leastLen, allPieces/max(1, models)))
	own, sum, mean := make([][]float32, models), make([]float64, n), make([]float32, n)
	for i := range own {
		own[i] = make([]float32, n)
	}
	for first := 0; first < dim; first += n {
		size := min(n, dim-first)
		clear(sum)
		for i := range own {
			if err := all.Read(own[i][:size], i, first); err != nil {
				return 0, err
			}
			for c, v := range own[i][:size] {
				sum[c] += float64(v)
			}
		}
		for c, v := range sum[:size] {
			mean[c] = float32(v / float64(models))
		}
		for i := range own {
			for c, v := range own[i][:size] {
				consensus = max(consensus, math.Abs(float64(v)-float64(mean[c])))
			}
		}
		if !yield(mean[:size]) {
			return consensus, nil
		}
	}
	return consensus, nil
}
