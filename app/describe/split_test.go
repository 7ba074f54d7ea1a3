package describe

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
)

// splitOf returns the split of the preset ring8 with some settings.
func splitOf(t *testing.T, set ...string) *Split {
	t.Helper()
	loaded, err := configs.Load(configs.Source{File: "ring8", Set: set})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSplit(run)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var uneven = []string{
	"data.partition=dirichlet", "data.sizes={law: shares, shares: [4, 2, 1, 1, 1, 1, 1, 1]}", "data.weights=samples",
	"data.label_noise=[0.25, 0, 0, 0, 0, 0, 0, 0]",
}

func TestSplitMeasuresHowWorkersDiffer(t *testing.T) {
	s := splitOf(t, uneven...)
	weights := 0.0
	for rank, want := range []int{4000, 2000, 1000, 1000, 1000, 1000, 1000, 1000} {
		if s.Sizes[rank] != want {
			t.Errorf("worker %d has %d samples, want %d", rank, s.Sizes[rank], want)
		}
		weights += s.Weights[rank]
	}
	if math.Abs(weights-8) > 1e-9 || s.Weights[0] != 8.*4000/12000 {
		t.Errorf("weights %v", s.Weights)
	}
	if s.Wrong[0] != 1000 || s.Wrong[1] != 0 {
		t.Errorf("wrong labels %v", s.Wrong)
	}
	if iid := splitOf(t); s.MeanDistance < 5*iid.MeanDistance || s.MostDistance < s.MeanDistance || s.MostDistance > 1 {
		t.Errorf("mean distance %v, largest %v; iid %v", s.MeanDistance, s.MostDistance, iid.MeanDistance)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"classes", "counts", "unused", "sizes", "weights", "label_noise", "labels_replaced",
		"distances", "mean_distance", "largest_distance"} {
		if !strings.Contains(string(text), `"`+key+`":`) {
			t.Errorf("JSON lacks %s", key)
		}
	}
}

var escape = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestSplitFitsItsWidth(t *testing.T) {
	s := splitOf(t, uneven...)
	for _, width := range []int{60, 80, 200} {
		plain, coloured := s.draw(width, false), s.draw(width, true)
		if strings.Contains(plain, "\x1b") || !strings.Contains(coloured, "\x1b") {
			t.Errorf("%d columns: colours in %v, none in %v", width, strings.Contains(plain, "\x1b"), coloured)
		}
		if escape.ReplaceAllString(coloured, "") != plain {
			t.Errorf("%d columns: colours change the text:\n%s\nwithout:\n%s", width, coloured, plain)
		}
		widest := 0
		for line := range strings.Lines(plain) {
			widest = max(widest, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
		}
		if widest > width || width == 60 && widest < 50 {
			t.Errorf("the widest line has %d of %d columns:\n%s", widest, width, plain)
		}
		for _, want := range []string{"WEIGHT", "2.667", "1000 (25 %)", "━━━━━", "the mean over samples", "1200"} {
			if !strings.Contains(plain, want) {
				t.Errorf("%d columns: no %q in\n%s", width, want, plain)
			}
		}
	}
	if tables := strings.Count(s.draw(60, false), "WORKER"); tables != 3 {
		t.Errorf("60 columns: %d tables, want the workers and two of labels", tables)
	}
	if tables := strings.Count(s.draw(200, false), "WORKER"); tables != 2 {
		t.Errorf("200 columns: %d tables, want the workers and the labels", tables)
	}
}

// Columns in which all workers are alike are left out.
func TestEvenSplitIsShort(t *testing.T) {
	text := splitOf(t, "data.partition=labels").draw(80, false)
	for _, unwanted := range []string{"WEIGHT", "WRONG", "gradients"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("%q in\n%s", unwanted, text)
		}
	}
	if !strings.Contains(text, "unused") || !strings.Contains(text, "0.875") || strings.Contains(text, " \n") {
		t.Errorf("text\n%s", text)
	}
}
