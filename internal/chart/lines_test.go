package chart

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func TestWriteLines(t *testing.T) {
	line := func(name string, y ...float64) Line { return Line{name, []float64{0, 1, 2}[:len(y)], y} }
	left := Lines{"round", "all", []Line{line("first", 1, 2, 3), line("second", 10, 20, 30)}}
	right := Lines{"round", "the second alone", []Line{line("second", 10, 20, 30)}}
	for _, format := range []string{"png", "svg", "pdf"} {
		var figure bytes.Buffer
		if err := WriteLines(&figure, left, right, format); err != nil || figure.Len() == 0 {
			t.Errorf("%s: %d bytes, %v", format, figure.Len(), err)
		}
	}
	var figure bytes.Buffer
	if err := WriteLines(&figure, left, right, "svg"); err != nil || strings.Count(figure.String(), ">second<") != 1 {
		t.Errorf("a name in both panels stands %d times in the legend, %v", strings.Count(figure.String(), ">second<"), err)
	}
	figure.Reset()
	if err := WriteLines(&figure, Lines{Lines: []Line{line("point", 3)}}, Lines{}, "svg"); err != nil ||
		strings.Contains(figure.String(), "NaN") {
		t.Errorf("one point and an empty panel: %v", err)
	}
	for what, test := range map[string]struct {
		line Line
		want string
	}{
		"nothing":         {line("x"), "at least one"},
		"places missing":  {Line{"x", []float64{1}, []float64{1, 2}}, "2 values at 1 places"},
		"zero":            {line("x", 1, 0), "x: 0 at 1: must be a number above 0"},
		"no number":       {line("x", math.NaN()), "NaN at 0"},
		"an endless line": {line("x", math.Inf(1)), "+Inf at 0"},
	} {
		err := WriteLines(nil, Lines{Lines: []Line{test.line}}, Lines{}, "svg")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", what, err, test.want)
		}
	}
	if err := WriteLines(nil, Lines{}, Lines{}, "svg"); err == nil {
		t.Error("accepted: a figure of nothing")
	}
	if err := WriteLines(nil, left, right, "gif"); err == nil {
		t.Error("accepted: a format")
	}
}
