package main

import (
	"strings"
	"testing"
)

func TestTheTableNamesRatios(t *testing.T) {
	got := document([]result{
		{row: row{work: "a rate", workers: 4}, ours: 6000, theirs: 3000},
		{row: row{work: "a run"}, ours: 2, theirs: 3},
	}, figures{sizes: []int{64}, shares: []float64{0.015}, cliff: 1.02}, 5, "a processor")
	for _, want := range []string{"on a processor", "medians of 5", "| a rate |", "6 k updates/s", "2.00 |", "1.50 |",
		"1.5 % |", "takes 1.02 times"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}

// Every command of a row names a program and does not depend on the folder of the reader.
func TestRowsHaveCommands(t *testing.T) {
	f := &field{peer: "peer", python: "python3", dir: "runs", data: "data"}
	for _, r := range rows() {
		if ours := r.ours(f, 7); ours[0] != "peer" || ours[1] != "sim" {
			t.Errorf("%s: ours is %q", r.work, ours)
		}
		if theirs := r.theirs(f, 7); theirs[0] != "python3" || !strings.HasPrefix(theirs[1], "studies/rivals/") {
			t.Errorf("%s: theirs is %q", r.work, theirs)
		}
		if r.workers > 0 && (r.long <= r.short || r.theirLong <= r.theirShort) {
			t.Errorf("%s: rounds %d to %d and %d to %d", r.work, r.short, r.long, r.theirShort, r.theirLong)
		}
	}
}
