package study

import (
	"fmt"
	"image/color"
	"regexp"
	"strings"
	"testing"
)

// However many lines a figure has, no two look alike. Where colours are too few, those of one method share one. The
// legend and LaTeX have the same styles.
func TestLinesOfOneMethodShareAColour(t *testing.T) {
	for _, n := range []int{14, 20, 200} {
		for _, kinds := range []int{1, 3, 14} {
			s := study(t, 1)
			quick := s.Groups[0]
			s.Groups, s.Labels = nil, nil
			for i := range n {
				g := *quick
				g.Label = fmt.Sprintf("%c%[1]c, %d", 'A'+rune(i%kinds), i)
				s.Groups, s.Labels = append(s.Groups, &g), append(s.Labels, g.Label)
			}
			legend, colours := legendOf(s.Groups), map[string]color.Color{}
			seen := map[string]string{}
			for _, e := range legend {
				look := fmt.Sprint(e.Style.Color, e.Style.Dashes)
				if seen[look] != "" {
					t.Errorf("%s looks like %s", e.Name, seen[look])
				}
				seen[look] = e.Name
				if c := colours[e.Name[:2]]; c != nil && c != e.Style.Color {
					t.Errorf("%s has another colour than others of its kind", e.Name)
				}
				colours[e.Name[:2]] = e.Style.Color
			}
			if n == 14 {
				f := s.Figures()[0]
				text := f.PGF()
				for _, e := range legend {
					named := regexp.MustCompile(`\\addlegendimage\{(.*)\}\\addlegendentry\{` + e.Name + `\}`)
					strokes := named.FindAllStringSubmatch(text, -1)
					if len(strokes) != 1 || strings.Count(text, "["+strokes[0][1]+", forget plot]") != len(f.Panels) {
						t.Errorf("LaTeX has no line or legend of %s: %q", e.Name, strokes)
					}
				}
			}
		}
	}
}
