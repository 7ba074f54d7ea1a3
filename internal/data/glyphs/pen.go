package glyphs

import (
	"fmt"

	"gossiptrainer/internal/rng"
)

// A Pen draws pictures. It owns scratch memory and is not safe for concurrent use.
type Pen struct {
	outlines [][classes]outline // by face
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

// Draw writes picture index of the set with that seed into pix: Side·Side grey values row after row, 0 = paper. The
// bits are the same on every machine.
func (p *Pen) Draw(pix []uint8, seed uint64, index int) {
	if len(pix) != side*side {
		panic("internal error: glyphs: Draw: pix must have Side·Side values")
	}
	draw := rng.At(seed, index)
	face := int(uint64(draw.Raw(drawFace)) * uint64(len(p.outlines)) >> 32)
	p.cover.reset()
	distortion(draw).apply(p.outlines[face][Label(index)], &p.cover)

	ink := minInk + draw.Raw(drawInk)%(256-minInk)
	for y := range p.cover {
		shares, row, at := p.cover.row(y), pix[y*side:(y+1)*side], drawNoise+uint32(y*side)
		for x, share := range shares {
			v := int32(share*ink/fullCover) + gaussian(draw.Raw(at+uint32(x)))*noise/gaussianStd
			row[x] = uint8(min(max(v, 0), 255))
		}
	}
}

const gaussianStd = 148 // of gaussian: √(4·(256²−1)/12)

// gaussian returns a nearly normal integer of mean 0: the sum of the four bytes
// of 32 random bits, less its expectation.
func gaussian(raw uint32) int32 {
	return int32(raw&255+raw>>8&255+raw>>16&255+raw>>24) - 510
}
