package data

import (
	"gossiptrainer/internal/data/glyphs"
	"gossiptrainer/internal/rng"
	"gossiptrainer/model/sample"
)

// glyphsSeed is part of the definition of the built-in set. It does not change with the seed of a run, because no data
// set does.
const glyphsSeed = 1

func glyphsInfo() Info {
	return Info{
		Name: "glyphs", Title: "digits drawn from the Go fonts", Home: "built in",
		Terms: "drawn from fonts by Bigelow & Holmes, under the licence of Go (BSD 3-clause)",
		Shape: sample.Shape{H: 28, W: 28, C: 1}, Classes: digits(), Train: 12_000, Test: 2_000,
		Pixels: true, Norm: greyImages(0.1289, 0.2229),
	}
}

// glyphsReader draws the built-in set instead of reading it.
type glyphsReader struct{ info Info }

var _ reader = glyphsReader{}

func (r glyphsReader) labels(p part) ([]uint8, error) {
	y := make([]uint8, [...]int{r.info.Train, r.info.Test}[p])
	for i := range y {
		y[i] = glyphs.Label(i)
	}
	return y, nil
}

func (r glyphsReader) fill(p part, b *builder) error {
	pen, err := glyphs.NewPen()
	if err != nil {
		return err
	}
	seed := rng.Stream(glyphsSeed, int(p))
	for i := range b.at {
		if pix := b.bytes(i, glyphs.Label(i)); pix != nil {
			pen.Draw(pix, seed, i)
		}
	}
	return nil
}
