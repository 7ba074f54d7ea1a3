package data

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "gossiptrainer/internal/proptest"
)

// labelled returns n rows whose labels run through the classes.
func labelled(n, classes int) Labels {
	y := Labels{Of: make([]uint8, n), Classes: make([]string, classes)}
	for i := range y.Of {
		y.Of[i] = uint8(i % classes)
	}
	for c := range y.Classes {
		y.Classes[c] = string(rune('0' + c))
	}
	return y
}

// checkPartition checks the properties that every partition has.
func checkPartition(t interface{ Errorf(string, ...any) }, p Partition, y Labels, workers int) {
	if len(p.Shards) != workers || len(p.Counts) != workers {
		t.Errorf("%d shards and %d counts, want %d", len(p.Shards), len(p.Counts), workers)
	}
	seen := make([]bool, len(y.Of))
	left := histogram(y)
	for i, shard := range p.Shards {
		if len(shard) == 0 {
			t.Errorf("worker %d has no data", i)
		}
		if !slices.IsSorted(shard) {
			t.Errorf("worker %d: rows are not sorted", i)
		}
		count := make([]int, len(y.Classes))
		for _, row := range shard {
			if seen[row] {
				t.Errorf("row %d is used twice", row)
			}
			seen[row] = true
			count[y.Of[row]]++
			left[y.Of[row]]--
		}
		if !slices.Equal(count, p.Counts[i]) {
			t.Errorf("worker %d: counts %v, want %v", i, p.Counts[i], count)
		}
	}
	if !slices.Equal(left, p.Unused) {
		t.Errorf("unused %v, want %v", p.Unused, left)
	}
}

func TestPartitionsUseEveryRowAtMostOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		classes := rapid.IntRange(1, 12).Draw(r, "classes")
		workers := rapid.IntRange(1, 20).Draw(r, "workers")
		y := labelled(rapid.IntRange(workers*classes, 800).Draw(r, "samples"), classes)
		seed := rapid.Uint64().Draw(r, "seed")
		perWorker := rapid.IntRange(1, classes).Draw(r, "per worker")
		alpha := rapid.Float64Range(minAlpha, maxAlpha).Draw(r, "alpha")
		kinds := map[string]func(seed uint64) (Partition, error){
			"iid":       func(seed uint64) (Partition, error) { return IID(y, workers, seed) },
			"by label":  func(seed uint64) (Partition, error) { return ByLabel(y, workers, perWorker, seed) },
			"dirichlet": func(seed uint64) (Partition, error) { return Dirichlet(y, workers, alpha, seed) },
		}
		for name, cut := range kinds {
			p, err := cut(seed)
			if err != nil {
				r.Fatalf("%s: %v", name, err)
			}
			checkPartition(r, p, y, workers)
			again, _ := cut(seed)
			if diff := cmp.Diff(p, again); diff != "" {
				r.Errorf("%s: the same seed cuts otherwise: %s", name, diff)
			}
			if name != "by label" && slices.Max(p.Unused) > 0 {
				r.Errorf("%s: rows are left over: %v", name, p.Unused)
			}
		}
	})
}

func TestIIDShardsHaveEqualSizesAndMixedLabels(t *testing.T) {
	y := labelled(1003, 10)
	p, err := IID(y, 8, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, shard := range p.Shards {
		if len(shard) != 125 && len(shard) != 126 {
			t.Errorf("worker %d has %d rows, want 125 or 126", i, len(shard))
		}
		if slices.Min(p.Counts[i]) < 3 {
			t.Errorf("worker %d: label counts %v, want all about 12", i, p.Counts[i])
		}
	}
	other, _ := IID(y, 8, 2)
	if slices.Equal(p.Shards[0], other.Shards[0]) {
		t.Error("another seed gives the same shard")
	}
}

func TestByLabel(t *testing.T) {
	tests := []struct {
		name               string
		workers, perWorker int
		want               [][]int
		unused             []int
	}{
		{"one label each", 4, 1, [][]int{{12, 0, 0, 0}, {0, 12, 0, 0}, {0, 0, 12, 0}, {0, 0, 0, 12}}, []int{0, 0, 0, 0}},
		{"two labels each", 4, 2, [][]int{{6, 6, 0, 0}, {0, 0, 6, 6}, {6, 6, 0, 0}, {0, 0, 6, 6}}, []int{0, 0, 0, 0}},
		{"no multiple: label 0 is shared, the others are not", 5, 1,
			[][]int{{6, 0, 0, 0}, {0, 12, 0, 0}, {0, 0, 12, 0}, {0, 0, 0, 12}, {6, 0, 0, 0}}, []int{0, 0, 0, 0}},
		{"no multiple with two labels", 3, 2, [][]int{{6, 6, 0, 0}, {0, 0, 12, 12}, {6, 6, 0, 0}}, []int{0, 0, 0, 0}},
		{"fewer than the labels", 3, 1, [][]int{{12, 0, 0, 0}, {0, 12, 0, 0}, {0, 0, 12, 0}}, []int{0, 0, 0, 12}},
		{"all labels each", 2, 4, [][]int{{6, 6, 6, 6}, {6, 6, 6, 6}}, []int{0, 0, 0, 0}},
	}
	y := labelled(48, 4)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := ByLabel(y, tt.workers, tt.perWorker, 1)
			if err != nil {
				t.Fatal(err)
			}
			checkPartition(t, p, y, tt.workers)
			if diff := cmp.Diff(tt.want, p.Counts); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.unused, p.Unused); diff != "" {
				t.Errorf("unused (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDirichletSkewFallsWithAlpha(t *testing.T) {
	y := labelled(10_000, 10)
	// skew is the mean over labels of the largest worker's share.
	skew := func(alpha float64) float64 {
		p, err := Dirichlet(y, 8, alpha, 3)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for c := range 10 {
			most := 0
			for i := range 8 {
				most = max(most, p.Counts[i][c])
			}
			sum += float64(most) / 1000 / 10
		}
		return sum
	}
	tests := []struct{ alpha, low, high float64 }{
		{1e-6, 0.99, 1}, {0.1, 0.5, 0.95}, {1, 0.2, 0.5}, {100, 0.1249, 0.17}, {1e6, 0.1249, 0.127},
	}
	for _, tt := range tests {
		if got := skew(tt.alpha); got < tt.low || got > tt.high {
			t.Errorf("alpha %v: largest share %.3f on average, want %v..%v", tt.alpha, got, tt.low, tt.high)
		}
	}
}

func TestGammaHasTheRightMoments(t *testing.T) {
	for _, shape := range []float64{0.3, 1, 2.5, 20} {
		q := make([]float64, 2) // of two shares, one is Beta(a, a): variance 1/(4(2a+1))
		sum, squares := 0.0, 0.0
		const n = 20_000
		for seed := range uint64(n) {
			dirichletShares(q, shape, seed)
			sum += q[0]
			squares += (q[0] - 0.5) * (q[0] - 0.5)
		}
		variance := 1 / (4 * (2*shape + 1))
		if mean := sum / n; mean < 0.485 || mean > 0.515 {
			t.Errorf("shape %v: mean share %.4f, want 0.5", shape, mean)
		}
		if got := squares / n; got < 0.93*variance || got > 1.07*variance {
			t.Errorf("shape %v: variance %.5f, want %.5f", shape, got, variance)
		}
	}
}

func TestPartitionRefusesNonsense(t *testing.T) {
	y := labelled(10, 5)
	thin := Labels{Of: []uint8{0, 0, 0, 1}, Classes: []string{"a", "b"}}
	tests := []struct {
		name string
		cut  func() (Partition, error)
		want string
	}{
		{"no workers", func() (Partition, error) { return IID(y, 0, 1) }, "0 workers"},
		{"more workers than samples", func() (Partition, error) { return IID(y, 11, 1) }, "11 workers for 10 samples"},
		{"no labels", func() (Partition, error) { return ByLabel(y, 2, 0, 1) }, "want 1..5"},
		{"more labels than there are", func() (Partition, error) { return ByLabel(y, 2, 6, 1) }, "want 1..5"},
		{"label with too few samples", func() (Partition, error) { return ByLabel(thin, 4, 1, 1) },
			"label b: 1 samples for 2 workers"},
		{"alpha 0", func() (Partition, error) { return Dirichlet(y, 2, 0, 1) }, "alpha 0"},
		{"alpha negative", func() (Partition, error) { return Dirichlet(y, 2, -1, 1) }, "alpha -1"},
		{"alpha not a number", func() (Partition, error) { return Dirichlet(y, 2, math.NaN(), 1) }, "alpha NaN"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.cut()
			wantError(t, err, tt.want)
		})
	}
}
