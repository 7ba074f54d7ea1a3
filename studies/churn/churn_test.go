package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestCellsAndDocument(t *testing.T) {
	p := plan{rounds: 5, most: 16}
	all := cells(p)
	if want := len(graphs) * len(codecs) * len(rates); len(all) != want {
		t.Fatalf("%d cells, want %d", len(all), want)
	}
	var results []result
	for _, c := range []cell{all[0], all[3]} {
		r, err := c.run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if r.members < 2 || r.sent <= 0 || r.accuracy <= 0 {
			t.Errorf("%+v", r)
		}
		results = append(results, r)
	}
	results = append(results, result{cell: all[1], failed: "nothing moves"})
	var drawn bytes.Buffer
	if err := sketch(&drawn, results, p); err != nil || drawn.Len() == 0 {
		t.Errorf("a picture of %d bytes, error %v", drawn.Len(), err)
	}
	text := document(results, p, "x.png")
	for _, want := range []string{"](x.png)", "nothing moves", "for 5 rounds", "| 16 "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
