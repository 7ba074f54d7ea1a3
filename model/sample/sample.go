// Package sample has the two words that objectives and data sets share: the
// shape of one sample, and a batch of samples with their labels.
//
//	batch := sample.Batch{X: pixels, Y: labels} // len(labels) images, one after another
//	loss := objective.Gradient(g, x, batch)
//
// It reads no files and draws no mini-batches.
package sample

// A Shape is the size of one sample: an image of H×W pixels with C channels,
// or a plain vector of C features with H = W = 1.
type Shape struct{ H, W, C int }

// Features returns H·W·C, the number of floats of one sample.
func (s Shape) Features() int { return s.H * s.W * s.C }

// A Batch is a list of samples. X holds the floats of len(Y) samples one after
// another, each in row-major order: height, width, channel. Y holds their labels,
// 0 to classes−1.
type Batch struct {
	X []float32
	Y []int32
}

// Len returns the number of samples.
func (b Batch) Len() int { return len(b.Y) }
