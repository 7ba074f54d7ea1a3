package chart

import (
	"image/color"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// The curves of peer dash have the colours of the figures, in shades for light and dark screens. Readers who cannot see
// red or green tell them apart. Each has three times the luminance of its ground, or a third, as the Web Content
// Accessibility Guidelines want of graphics, or more.
func TestThePageHasTheColoursOfFigures(t *testing.T) {
	text, err := os.ReadFile("../../web/src/app.css")
	if err != nil {
		t.Fatal(err)
	}
	shade := regexp.MustCompile(`--(paper|panel|series-[0-9]): #([0-9a-f]{6});`)
	themes := [2]map[string]color.RGBA{{}, {}} // light, then dark
	for _, hit := range shade.FindAllStringSubmatch(string(text), -1) {
		v, _ := strconv.ParseUint(hit[2], 16, 32) // six hexadecimal digits
		theme := themes[0]
		if _, light := theme[hit[1]]; light {
			theme = themes[1]
		}
		theme[hit[1]] = color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
	}
	for k, theme := range themes {
		var shades []color.Color
		for i := range len(theme) - 2 {
			c := theme["series-"+strconv.Itoa(i)]
			shades = append(shades, c)
			if d := hueDistance(c, lineColors[i]); d > 20 {
				t.Errorf("theme %d: series %d is %.0f degrees from the colour of figures", k, i, d)
			}
			for _, ground := range []string{"paper", "panel"} {
				if ratio := contrast(c, theme[ground]); ratio < 3 {
					t.Errorf("theme %d: series %d on %s: contrast %.2f, want 3", k, i, ground, ratio)
				}
			}
		}
		if len(shades) != 8 {
			t.Errorf("theme %d: %d series, want 8", k, len(shades))
		}
		toldApart(t, shades)
	}
}

// hueDistance returns the degrees between two hues of CIELAB; two greys have none.
func hueDistance(a, b color.Color) float64 {
	const grey = 8 // chroma
	p, q := lab(a, eyes()["all"]), lab(b, eyes()["all"])
	if pale, also := math.Hypot(p[1], p[2]) < grey, math.Hypot(q[1], q[2]) < grey; pale || also {
		if pale && also {
			return 0
		}
		return 180
	}
	d := math.Abs(math.Atan2(p[2], p[1])-math.Atan2(q[2], q[1])) * 180 / math.Pi
	return min(d, 360-d)
}

// contrast returns the ratio of the luminances of two colours, 1 to 21.
func contrast(a, b color.Color) float64 {
	light := func(c color.Color) float64 {
		return math.Pow((lab(c, eyes()["all"])[0]+16)/116, 3) // Y of CIELAB, the relative luminance
	}
	p, q := light(a), light(b)
	return (max(p, q) + 0.05) / (min(p, q) + 0.05)
}
