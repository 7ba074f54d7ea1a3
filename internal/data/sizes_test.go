package data

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawShares draws shares of several magnitudes, some of them 0.
func drawShares(r *rapid.T, workers int) []float64 {
	shares := make([]float64, workers)
	for i := range shares {
		shares[i] = rapid.SampledFrom([]float64{0, 1e-9, 0.5, 1, 1, 2, 7.25, 1000}).Draw(r, "share")
	}
	shares[rapid.IntRange(0, workers-1).Draw(r, "positive")] = 3
	return shares
}

func TestApportionGivesEachOneAndAllRows(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		workers := rapid.IntRange(1, 40).Draw(r, "workers")
		rows := rapid.IntRange(workers, 5000).Draw(r, "rows")
		shares := drawShares(r, workers)
		sizes, all, scarce := apportion(rows, shares), 0.0, false
		for i, share := range shares {
			all += share
			scarce = scarce || float64(rows)*share < all || sizes[i] == 1
		}
		if total(sizes) != rows || slices.Min(sizes) < 1 {
			r.Fatalf("%v of %d rows: sizes %v", shares, rows, sizes)
		}
		for i := range sizes {
			if quota := float64(rows) * shares[i] / all; !scarce && math.Abs(float64(sizes[i])-quota) > 1 {
				r.Errorf("worker %d has %d rows, its quota is %v", i, sizes[i], quota)
			}
			for j := range sizes {
				if shares[i] > shares[j] && sizes[i] < sizes[j] {
					r.Errorf("shares %v, sizes %v: worker %d has fewer rows than worker %d", shares, sizes, i, j)
				}
			}
		}
	})
}

func TestApportion(t *testing.T) {
	for _, tt := range []struct {
		rows   int
		shares []float64
		want   []int
	}{
		{8, []float64{1, 1, 1, 1}, []int{2, 2, 2, 2}},
		{10, []float64{1, 1, 1}, []int{4, 3, 3}},
		{100, []float64{4, 2, 1, 1}, []int{50, 25, 13, 12}},
		{10, []float64{1000, 0, 1}, []int{8, 1, 1}},
		{3, []float64{5, 0, 0}, []int{1, 1, 1}},
		{1, []float64{0.1}, []int{1}},
	} {
		if got := apportion(tt.rows, tt.shares); !slices.Equal(got, tt.want) {
			t.Errorf("%d rows by %v: %v, want %v", tt.rows, tt.shares, got, tt.want)
		}
	}
}

func TestSizedPartitionsHaveTheSizes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		classes := rapid.IntRange(1, 12).Draw(r, "classes")
		workers := rapid.IntRange(1, 20).Draw(r, "workers")
		y := labelled(rapid.IntRange(workers*classes, 800).Draw(r, "samples"), classes)
		seed, shares := rapid.Uint64().Draw(r, "seed"), drawShares(r, workers)
		perWorker := rapid.IntRange(1, classes).Draw(r, "per worker")
		alpha := rapid.Float64Range(minAlpha, 10).Draw(r, "alpha")
		for name, cut := range map[string]func(seed uint64) (Partition, error){
			"iid":       func(seed uint64) (Partition, error) { return IIDSized(y, shares, seed) },
			"by label":  func(seed uint64) (Partition, error) { return ByLabelSized(y, shares, perWorker, seed) },
			"dirichlet": func(seed uint64) (Partition, error) { return DirichletSized(y, shares, alpha, seed) },
		} {
			p, err := cut(seed)
			if err != nil {
				r.Fatalf("%s: %v", name, err)
			}
			checkPartition(r, p, y, workers)
			again, _ := cut(seed)
			if diff := cmp.Diff(p, again); diff != "" {
				r.Errorf("%s: the same seed cuts otherwise: %s", name, diff)
			}
			if want := apportion(len(y.Of), shares); name != "by label" && !slices.Equal(p.Sizes(), want) {
				r.Errorf("%s: sizes %v, want %v", name, p.Sizes(), want)
			}
		}
	})
}

// Workers have equally many rows of each of their labels, in proportion to their shares, and no more fit.
func TestByLabelSizedTakesProportionalParts(t *testing.T) {
	y := labelled(400, 4)
	for _, tt := range []struct {
		shares    []float64
		perWorker int
		want      [][]int
		unused    []int
	}{
		{[]float64{4, 2, 1, 1}, 1, [][]int{{100, 0, 0, 0}, {0, 50, 0, 0}, {0, 0, 25, 0}, {0, 0, 0, 25}},
			[]int{0, 50, 75, 75}},
		{[]float64{3, 1, 1, 1}, 2, [][]int{{75, 75, 0, 0}, {0, 0, 25, 25}, {25, 25, 0, 0}, {0, 0, 25, 25}},
			[]int{0, 0, 50, 50}},
		{[]float64{1, 1}, 4, [][]int{{50, 50, 50, 50}, {50, 50, 50, 50}}, []int{0, 0, 0, 0}},
		{[]float64{1, 0}, 1, [][]int{{100, 0, 0, 0}, {0, 1, 0, 0}}, []int{0, 99, 100, 100}},
	} {
		p, err := ByLabelSized(y, tt.shares, tt.perWorker, 3)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, p.Counts); diff != "" {
			t.Errorf("%v: counts (-want +got):\n%s", tt.shares, diff)
		}
		if !slices.Equal(p.Unused, tt.unused) {
			t.Errorf("%v: unused %v, want %v", tt.shares, p.Unused, tt.unused)
		}
	}
}

// A small alpha gives a worker few labels and a large one all, whatever the sizes.
func TestDirichletSizedFollowsAlpha(t *testing.T) {
	y, shares := labelled(4000, 10), PowerShares(8, 1)
	mean := map[float64]float64{}
	for _, alpha := range []float64{0.05, 100} {
		p, err := DirichletSized(y, shares, alpha, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range p.Distances() {
			mean[alpha] += d / 8
		}
	}
	if mean[0.05] < 0.5 || mean[100] > 0.15 {
		t.Errorf("mean distances by alpha %v, want above 0.5 and below 0.15", mean)
	}
}

func TestLawsOfShares(t *testing.T) {
	if got := PowerShares(4, 1); got[0] != 1 || got[1] != 0.5 || got[3] != 0.25 {
		t.Errorf("shares by the power 1: %v", got)
	}
	if got := PowerShares(3, 1000); got[0] != 1 || got[2] != 0 {
		t.Errorf("shares by the power 1000: %v", got)
	}
	wide, err := DirichletShares(50, 0.1, 1)
	narrow, err2 := DirichletShares(50, 1000, 1)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if slices.Max(wide) < 4*slices.Max(narrow) || slices.Max(narrow) > 0.03 {
		t.Errorf("largest shares %v and %v", slices.Max(wide), slices.Max(narrow))
	}
	if other, _ := DirichletShares(50, 0.1, 2); slices.Equal(wide, other) {
		t.Error("another seed gives the same shares")
	}
	if _, err := DirichletShares(3, 0, 1); err == nil {
		t.Error("alpha 0 is accepted")
	}
}

func TestImpossibleShares(t *testing.T) {
	y := labelled(20, 4)
	for want, shares := range map[string][]float64{
		"share -1": {1, -1}, "share NaN": {math.NaN(), 1}, "share +Inf": {1, math.Inf(1)},
		"all shares are 0": {0, 0}, "21 workers for 20 samples": EqualShares(21), "0 workers": {},
	} {
		for name, cut := range map[string]func() (Partition, error){
			"iid":       func() (Partition, error) { return IIDSized(y, shares, 1) },
			"by label":  func() (Partition, error) { return ByLabelSized(y, shares, 1, 1) },
			"dirichlet": func() (Partition, error) { return DirichletSized(y, shares, 1, 1) },
		} {
			if _, err := cut(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %v: %v, want %q", name, shares, err, want)
			}
		}
	}
	if _, err := ByLabelSized(y, EqualShares(2), 5, 1); err == nil {
		t.Error("more labels per worker than there are")
	}
	if _, err := DirichletSized(y, EqualShares(2), 0, 1); err == nil {
		t.Error("alpha 0 is accepted")
	}
}

// The mean over workers of weight times mean is the mean over samples, to rounding.
func TestWeightsMakeTheMeanOverSamples(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 500), 1, 20).Draw(r, "sizes")
		losses := rapid.SliceOfN(rapid.Float64Range(-5, 5), total(sizes), total(sizes)).Draw(r, "losses")
		mean, joined, from := 0.0, 0.0, 0
		for i, w := range Weights(sizes) {
			own := 0.0
			for _, loss := range losses[from : from+sizes[i]] {
				own += loss / float64(sizes[i])
				mean += loss / float64(len(losses))
			}
			joined += w * own / float64(len(sizes))
			from += sizes[i]
		}
		if math.Abs(mean-joined) > 1e-12 {
			r.Errorf("sizes %v: weighted mean %v, mean over samples %v", sizes, joined, mean)
		}
	})
}

func TestDistances(t *testing.T) {
	p := Partition{Classes: []string{"a", "b"}, Counts: [][]int{{10, 0}, {0, 10}, {10, 10}}}
	if got := p.Distances(); !slices.Equal(got, []float64{0.5, 0.5, 0}) {
		t.Errorf("distances %v", got)
	}
}
