package score

import (
	"fmt"
	"iter"
	"math"
)

// Replicas are the final models of a run, which are read in pieces.
type Replicas interface {
	// Size returns how many there are, and their length: 0 if it is not the same for all.
	Size() (models, coordinates int)
	// Read fills x with model i from a coordinate on. All models have their coordinates in the same order.
	Read(x []float32, i, first int) error
	// Statistics returns the running statistics of model i, none where the model has none.
	Statistics(i int) ([]float32, error)
	// Collect returns the flat vector of a model from its parts in that order, which share memory. It fails if some are
	// missing.
	Collect(parts iter.Seq[[]float32]) ([]float32, error)
}

// InMemory are the final models by rank.
type InMemory []InMemoryModel

// An InMemoryModel is a final model. X is nil if it is missing.
type InMemoryModel struct{ X, Statistics []float32 }

// Size counts the models that exist.
func (m InMemory) Size() (models, coordinates int) {
	same := true
	for _, one := range m {
		if one.X == nil {
			continue
		}
		same = same && (models == 0 || len(one.X) == coordinates)
		coordinates, models = len(one.X), models+1
	}
	if !same {
		return models, 0
	}
	return models, coordinates
}

// existing returns model i of those that exist.
func (m InMemory) existing(i int) (InMemoryModel, error) {
	for _, one := range m {
		if one.X == nil {
			continue
		}
		if i == 0 {
			return one, nil
		}
		i--
	}
	return InMemoryModel{}, fmt.Errorf("internal error: score: model %d is missing", i)
}

// Mean returns the mean of the models that exist.
func (m InMemory) Mean() []float32 { return meanVector(m.vectors()) }

// vectors returns the models that exist.
func (m InMemory) vectors() (all [][]float32) {
	for _, one := range m {
		if one.X != nil {
			all = append(all, one.X)
		}
	}
	return all
}

// Read copies a piece of a model.
func (m InMemory) Read(x []float32, i, first int) error {
	one, err := m.existing(i)
	if err == nil {
		copy(x, one.X[first:])
	}
	return err
}

// Statistics returns those of a model.
func (m InMemory) Statistics(i int) ([]float32, error) {
	one, err := m.existing(i)
	return one.Statistics, err
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

// Bounds of the coordinates that are averaged at a time: of each model, of all models together, and the least number.
const (
	pieceLen  = 1 << 16
	allPieces = 1 << 24
	leastLen  = 1 << 10
)

// Mean tells yield the mean of replicas piece by piece, summed in float64 in their order. It returns the largest
// distance of a replica to the mean, max_i |x_i − x̄|_∞. It needs one piece of each replica in memory.
func Mean(all Replicas, yield func(mean []float32) bool) (consensus float64, err error) {
	models, dim := all.Size()
	n := min(dim, pieceLen, max(leastLen, allPieces/max(1, models)))
	own, sum, mean := make([][]float32, models), make([]float64, n), make([]float32, n)
	read := func(i, first, size int) error { return all.Read(own[i][:size], i, first) }
	if m, ok := all.(InMemory); ok { // where they are
		whole := m.vectors()
		read = func(i, first, size int) error {
			own[i] = whole[i][first : first+size]
			return nil
		}
	} else {
		for i := range own {
			own[i] = make([]float32, n)
		}
	}
	for first := 0; first < dim; first += n {
		size := min(n, dim-first)
		clear(sum)
		for i := range own {
			if err := read(i, first, size); err != nil {
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

// MeanStatistics returns the mean of the replicas' running statistics, summed in float64 in their order. It is empty
// where the models have none.
func MeanStatistics(all Replicas) ([]float32, error) {
	models, _ := all.Size()
	if models > 0 { // most models have none
		if first, err := all.Statistics(0); err != nil || len(first) == 0 {
			return nil, err
		}
	}
	each := make([][]float32, models)
	for i := range each {
		var err error
		if each[i], err = all.Statistics(i); err != nil {
			return nil, err
		}
		if len(each[i]) != len(each[0]) {
			return nil, fmt.Errorf("internal error: score: %d and %d running statistics", len(each[0]), len(each[i]))
		}
	}
	return meanVector(each), nil
}

// meanVector returns the mean of vectors of one length, summed in float64 in the order given.
func meanVector(all [][]float32) []float32 {
	sum := make([]float64, len(all[0]))
	for _, x := range all {
		for c, v := range x {
			sum[c] += float64(v)
		}
	}
	mean := make([]float32, len(sum))
	for c, v := range sum {
		mean[c] = float32(v / float64(len(all)))
	}
	return mean
}
