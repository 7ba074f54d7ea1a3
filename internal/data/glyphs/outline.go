package glyphs

import (
	"fmt"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gobolditalic"
	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/gomonoitalic"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

type point struct{ x, y float64 }

// An outline is the closed contours of a digit as polygons, y down, centred at 0
// and of height 1.
type outline [][]point

type face struct {
	name string
	ttf  []byte
}

// faces lists the fonts. Their order is part of the set's definition.
func faces() []face {
	return []face{
		{"Go Regular", goregular.TTF},
		{"Go Medium", gomedium.TTF},
		{"Go Bold", gobold.TTF},
		{"Go Italic", goitalic.TTF},
		{"Go Bold Italic", gobolditalic.TTF},
		{"Go Mono", gomono.TTF},
		{"Go Mono Bold", gomonobold.TTF},
		{"Go Mono Italic", gomonoitalic.TTF},
	}
}

func loadDigits(ttf []byte) (digits [classes]outline, err error) {
	font, err := sfnt.Parse(ttf)
	if err != nil {
		return digits, err
	}
	var buf sfnt.Buffer
	size := fixed.I(int(font.UnitsPerEm())) // one font unit = 64 units of the outline: nothing is rounded
	for digit := range digits {
		glyph, err := font.GlyphIndex(&buf, rune('0'+digit))
		if err != nil {
			return digits, err
		}
		segments, err := font.LoadGlyph(&buf, glyph, size, nil)
		if err != nil {
			return digits, err
		}
		if digits[digit], err = flatten(segments); err != nil {
			return digits, fmt.Errorf("digit %d: %w", digit, err)
		}
	}
	return digits, nil
}

// chords is how many straight lines replace a curve: enough at 28 pixels.
const chords = 4

// flatten turns the segments of a glyph into polygons.
func flatten(segments sfnt.Segments) (outline, error) {
	box := segments.Bounds()
	centre := box.Min.Add(box.Max).Div(fixed.I(2))
	h := float64(box.Max.Y - box.Min.Y)
	var o outline
	var pen fixed.Point26_6
	add := func(x, y, unit fixed.Int26_6) { // a point in 1/unit
		last := len(o) - 1
		o[last] = append(o[last], point{
			x: float64(x-unit*centre.X) / (h * float64(unit)),
			y: float64(y-unit*centre.Y) / (h * float64(unit)),
		})
	}
	for _, s := range segments {
		end := s.Args[0]
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			o = append(o, nil)
			add(end.X, end.Y, 1)
		case sfnt.SegmentOpLineTo:
			add(end.X, end.Y, 1)
		case sfnt.SegmentOpQuadTo:
			control := s.Args[0]
			end = s.Args[1]
			for j := fixed.Int26_6(1); j <= chords; j++ {
				i := chords - j // B(j/chords), in integers
				add(i*i*pen.X+2*i*j*control.X+j*j*end.X, i*i*pen.Y+2*i*j*control.Y+j*j*end.Y, chords*chords)
			}
		default:
			return nil, fmt.Errorf("unexpected segment %d in a TrueType outline", s.Op)
		}
		pen = end
	}
	return o, nil
}
