package report

import (
	"bytes"
	"strings"
	"testing"
)

func TestWriteLevels(t *testing.T) {
	values := []float32{-1, -0.5, 0, 0.1, 0.2, 1}
	levels, shares := []float64{-1, 0, 1}, []float64{0.25, 0.5, 0.25}
	for _, format := range []string{"png", "svg", "pdf"} {
		var figure bytes.Buffer
		if err := WriteLevels(&figure, values, levels, shares, format); err != nil || figure.Len() == 0 {
			t.Errorf("%s: %d bytes, %v", format, figure.Len(), err)
		}
	}
	for what, draw := range map[string]func(w *bytes.Buffer) error{
		"constant values": func(w *bytes.Buffer) error {
			return WriteLevels(w, []float32{2, 2}, []float64{2}, []float64{1}, "svg")
		},
		"one level of zeros": func(w *bytes.Buffer) error {
			return WriteLevels(w, []float32{0}, []float64{0}, []float64{1},
				"svg")
		},
	} {
		var figure bytes.Buffer
		if err := draw(&figure); err != nil || strings.Contains(figure.String(), "NaN") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"no values":        WriteLevels(nil, nil, levels, shares, "svg"),
		"no levels":        WriteLevels(nil, values, nil, nil, "svg"),
		"shares of others": WriteLevels(nil, values, levels, shares[1:], "svg"),
		"a format":         WriteLevels(nil, values, levels, shares, "gif"),
	} {
		if err == nil {
			t.Errorf("accepted: %s", what)
		}
	}
}
