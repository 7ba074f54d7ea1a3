// Package glyphs draws the built-in data set: grey 28×28 pictures of the digits
// 0..9 in the Go fonts, each turned, sheared, scaled, shifted and covered with
// noise. A picture is a function of (seed, index).
//
// It keeps no pictures and knows no splits: package data does.
package glyphs

import (
	"fmt"

	"gossiptrainer/internal/rng"
)

// Side is the height and the width of a picture in pixels.
const Side = 28

// Classes is the number of labels: one per digit.
const Classes = 10

// Limits of the random distortion. A draw is uniform within them.
const (
	maxTan   = 0.13 // tangent of half the angle: ±14.8°
	maxShear = 0.25
	maxShift = 2.0  // pixels, each way
	height   = 18.0 // mean height of a digit in pixels
	maxScale = 0.18 // relative change of the height
	maxWidth = 0.18 // relative change of the width beyond that
	minInk   = 130  // grey of the strokes, up to 255
	noise    = 32   // standard deviation of the noise in grey steps
)

// Indices of the random numbers of a picture; one more per pixel from drawNoise on.
const (
	drawFace = iota
	drawTan
	drawShear
	drawScale
	drawWidth
	drawShiftX
	drawShiftY
	drawInk
	drawNoise
)

// A Pen draws pictures. It owns scratch memory and is not safe for concurrent use.
type Pen struct {
	outlines [][Classes]outline // by face
	cover    coverage
}

// NewPen loads the outlines of the digits.
func NewPen() (*Pen, error) {
	p := new(Pen)
	for _, f := range faces() {
		digits, err := loadDigits(f.ttf)
		if err != nil {
			return nil, fmt.Errorf("glyphs: %s: %w", f.name, err)
		}
		p.outlines = append(p.outlines, digits)
	}
	return p, nil
}

// Label returns the digit on picture index: the last digit of the index, so that
// any run of 10 pictures holds every digit once.
func Label(index int) uint8 { return uint8(index % Classes) }

// Draw writes picture index of the set with that seed into pix, Side·Side grey
// values row after row, 0 = paper. The same bits on every machine.
func (p *Pen) Draw(pix []uint8, seed uint64, index int) {
	if len(pix) != Side*Side {
		panic("internal error: glyphs: Draw: pix must have Side·Side values")
	}
	draw := rng.At(seed, index)
	face := int(uint64(draw.Raw(drawFace)) * uint64(len(p.outlines)) >> 32)
	p.cover.reset()
	distortion(draw).apply(p.outlines[face][Label(index)], &p.cover)

	ink := minInk + int32(draw.Raw(drawInk)%(256-minInk))
	p.cover.sum(func(at int, share int32) {
		v := share*ink/fullCover + gaussian(draw.Raw(drawNoise+uint32(at)))*noise/gaussianStd
		pix[at] = uint8(min(max(v, 0), 255))
	})
}

const gaussianStd = 148 // of gaussian: √(4·(256²−1)/12)

// gaussian returns a nearly normal integer of mean 0: the sum of the four bytes
// of 32 random bits, less its expectation.
func gaussian(raw uint32) int32 {
	return int32(raw&255+raw>>8&255+raw>>16&255+raw>>24) - 510
}
