package record

import (
	"strings"
	"testing"
)

func TestASummaryNamesRowsAndTestSets(t *testing.T) {
	final := func(rank, train, test int, set string) Final { return Final{Rank: rank, Data: &Rows{train, test, set}} }
	for name, test := range map[string]struct {
		partition string
		finals    []Final
		want      string
	}{
		"one set": {"iid", []Final{final(0, 750, 200, ""), final(1, 750, 200, "")},
			"iid, 750 rows per worker; evaluated on one test set of 200 rows"},
		"their own": {"local", []Final{final(1, 90, 20, "b"), final(0, 400, 30, "a")},
			"local, 400, 90 rows per worker, all workers count equally; evaluated on 2 different test sets, of 30, 20 rows: " +
				"each worker on its own, the average model on all of them"},
		"alike": {"local", []Final{final(0, 4, 3, "a"), final(1, 4, 3, "a")},
			"local, 4 rows per worker; evaluated on one test set of 3 rows"},
	} {
		if got := SumRows(test.partition, test.finals, 2).String(); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	if got := SumRows("iid", []Final{{Rank: 0}}, 1); got != nil {
		t.Errorf("a run without data has %v", got)
	}
	var many []Final
	for i := range 20 {
		many = append(many, final(i, 100+i, 10, ""))
	}
	if got := SumRows("dirichlet", many, 20).String(); !strings.HasPrefix(got, "dirichlet, 100 to 119 rows per worker, ") {
		t.Errorf("got %q", got)
	}
}
