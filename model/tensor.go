package model

import "gossiptrainer/internal/kernel"

// A tensor is a batch of images in NHWC order, [batch][h+2·border][w+2·border][c].
// The border is zero for ever, so that a convolution needs no case for the rim
// of the image.
type tensor struct {
	dims
	v []float32
}

// dims are the sizes of one image: h×w pixels of c channels, without the border around them.
type dims struct{ h, w, c, border int }

func newTensor(batch int, d dims) *tensor {
	t := &tensor{dims: d}
	size := batch * t.size()
	t.v = make([]float32, size, size+beyond)
	return t
}

// beyond is how many floats of no meaning lie behind those of a tensor: the
// kernels take inputs by fours.
const beyond = 3

// reach returns the floats with those behind them.
func (t *tensor) reach() []float32 { return t.v[:cap(t.v)] }

// grid returns where every step-th pixel from (y, x) on begins.
func (t *tensor) grid(y, x, step int) grid {
	return grid{first: t.at(0, y, x), image: t.size(), row: step * t.stride(), pixel: step * t.c}
}

// plane returns image b, to be read by its shape.
func (t *tensor) plane(b int) kernel.Plane {
	return kernel.Plane{V: t.v[t.at(b, 0, 0):], Step: t.stride()}
}

// shape returns the size of an image without its border.
func (t *tensor) shape() kernel.Size { return kernel.Size{Rows: t.h, Pixels: t.w, Channels: t.c} }

// size returns the number of floats per image, its border included.
func (t *tensor) size() int { return (t.h + 2*t.border) * t.stride() }

// stride returns the number of floats from one row to the next.
func (t *tensor) stride() int { return (t.w + 2*t.border) * t.c }

// at returns the index of channel 0 of pixel (y, x) of image b. y and x may
// point into the border.
func (t *tensor) at(b, y, x int) int {
	return b*t.size() + (y+t.border)*t.stride() + (x+t.border)*t.c
}

// row returns the pixels of row y of image b, without the border: w·c floats.
func (t *tensor) row(b, y int) []float32 {
	i := t.at(b, y, 0)
	return t.v[i : i+t.w*t.c]
}

// images returns the first n images, borders included.
func (t *tensor) images(n int) []float32 { return t.v[:n*t.size()] }
