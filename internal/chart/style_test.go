package chart

import (
	"image/color"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNeighboursInAComparisonDifferInGreyToo(t *testing.T) {
	all := Styles(make([]string, len(lineColors)))
	for i := range all {
		for j := i + 1; j < min(i+8, len(all)); j++ {
			if cmp.Equal(all[i].Dashes, all[j].Dashes) {
				t.Errorf("runs %d and %d have the same dashes", i, j)
			}
		}
	}
}

// Eleven algorithms have eleven colours. A reader who cannot see red or green can tell them apart (Machado, Oliveira
// and Fernandes 2009). So have the parts of a round, whose colours differ from those of all algorithms.
func TestColoursAreToldApart(t *testing.T) {
	var colours []color.Color
	for _, c := range lineColors {
		colours = append(colours, c)
	}
	parts := PartColors()
	toldApart(t, append(colours, parts[:]...))
}

// eyes are those of all readers, and of some, as maps of linear red, green and blue.
func eyes() map[string][3][3]float64 {
	return map[string][3][3]float64{
		"all":      {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
		"no red":   {{.152286, 1.052583, -.204868}, {.114503, .786281, .099216}, {-.003882, -.048116, 1.051998}},
		"no green": {{.367322, .860646, -.227968}, {.280085, .672501, .047413}, {-.01182, .04294, .968881}},
	}
}

// toldApart fails where two colours look alike to some eyes.
func toldApart(t *testing.T, colours []color.Color) {
	t.Helper()
	const least = 15 // in CIELAB, where a distance of 2 is just visible
	for name, eye := range eyes() {
		for i := range colours {
			for j := range i {
				a, b := lab(colours[i], eye), lab(colours[j], eye)
				if d := math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2]); d < least {
					t.Errorf("eyes with %s: colours %d and %d are %.1f apart, want %d", name, i, j, d, least)
				}
			}
		}
	}
}

// lab returns the place of a colour in CIELAB, as some eyes see it.
func lab(c color.Color, eye [3][3]float64) [3]float64 {
	r, g, b, _ := c.RGBA()
	var linear, seen [3]float64
	for i, v := range []uint32{r, g, b} {
		linear[i] = math.Pow((float64(v)/0xffff+0.055)/1.055, 2.4)
	}
	for i := range seen {
		for j := range linear {
			seen[i] += eye[i][j] * linear[j]
		}
	}
	f := func(x, y, z, white float64) float64 { return math.Cbrt(max(0, x*seen[0]+y*seen[1]+z*seen[2]) / white) }
	x, y, z := f(.4124, .3576, .1805, .9505), f(.2126, .7152, .0722, 1), f(.0193, .1192, .9505, 1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}
