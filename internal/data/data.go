// Package data reads data sets, cuts them into shards and draws mini-batches. A mini-batch is a function of (seed,
// worker, round), never of history.
//
// It trains nothing, and downloads nothing unless Fetch is called.
package data

// A Shape is the size of one sample: an image of H×W pixels with C channels,
// or a plain vector of C features with H = W = 1.
type Shape struct{ H, W, C int }

// Features returns H·W·C.
func (s Shape) Features() int { return s.H * s.W * s.C }

// A Batch is a list of samples: X holds len(Y) samples one after another,
// normalised, each in row-major HWC order; Y their labels 0..classes−1.
type Batch struct {
	X []float32
	Y []int32
}

// Len returns the number of samples.
func (b Batch) Len() int { return len(b.Y) }
