package algos

import "gossiptrainer/internal/kernel"

// Rows are vectors of Dim coordinates that follow each other in one array, at a distance of Stride. Numbers
// that fill up a row are 0.
type Rows struct {
	Data        []float32
	Dim, Stride int
}

// NewRows returns n rows of zeros, for the kernels over rows.
func NewRows(n, dim int) Rows {
	stride := (dim + kernel.RowStep - 1) / kernel.RowStep * kernel.RowStep
	return Rows{make([]float32, n*stride), dim, stride}
}

// At returns row i.
func (r Rows) At(i int) []float32 { return r.Data[i*r.Stride:][:r.Dim:r.Dim] }

// Whole returns row i with what fills it up.
func (r Rows) Whole(i int) []float32 { return r.Data[i*r.Stride:][:r.Stride:r.Stride] }

// From returns the rows from one on.
func (r Rows) From(i int) Rows {
	r.Data = r.Data[i*r.Stride:]
	return r
}

// Stacked are workers in turn whose models, directions and losses are rows of arrays.
type Stacked struct {
	First   int       // worker
	X, G    Rows      // of the workers from First on
	Largest []float32 // magnitudes in the models
	Losses  []float32 // one per worker
}
