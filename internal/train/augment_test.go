package train

import (
	"math"
	"slices"
	"testing"

	"gossiptrainer/internal/data"
	"gossiptrainer/model/sample"
)

func newAugmenter(t *testing.T, seed uint64, worker int, s sample.Shape) *Augmenter {
	t.Helper()
	a, err := NewAugmenter(seed, worker, s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A crop of a picture of 2×3 pixels with two channels, by hand.
func TestCropsAndMirrors(t *testing.T) {
	a := newAugmenter(t, 1, 0, sample.Shape{H: 2, W: 3, C: 2})
	picture := []float32{
		1, -1, 2, -2, 3, -3,
		4, -4, 5, -5, 6, -6,
	}
	for _, test := range []struct {
		dy, dx int
		mirror bool
		want   []float32
	}{
		{0, 0, false, picture},
		{0, 0, true, []float32{3, -3, 2, -2, 1, -1, 6, -6, 5, -5, 4, -4}},
		{1, 0, false, []float32{4, -4, 5, -5, 6, -6, 0, 0, 0, 0, 0, 0}},
		{-1, 1, false, []float32{0, 0, 0, 0, 0, 0, 2, -2, 3, -3, 0, 0}},
		{0, -2, false, []float32{0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 4, -4}},
		{0, -2, true, []float32{1, -1, 0, 0, 0, 0, 4, -4, 0, 0, 0, 0}},
		{4, -4, true, make([]float32, 12)},
	} {
		got := slices.Clone(picture)
		a.apply(got, test.dy, test.dx, test.mirror)
		if !slices.Equal(got, test.want) {
			t.Errorf("from row %d, column %d, mirrored %v: %v, want %v", test.dy, test.dx, test.mirror, got, test.want)
		}
	}
}

// Pictures that are smaller than the largest move lie outside their crop in some rounds, and are then empty.
func TestCropsOfSmallPictures(t *testing.T) {
	for _, s := range []sample.Shape{{H: 2, W: 2, C: 1}, {H: 3, W: 3, C: 3}, {H: 28, W: 2, C: 1}, {H: 3, W: 28, C: 1}} {
		empty := 0
		next := newAugmenter(t, 1, 0, s).Change(func(int) sample.Batch {
			return sample.Batch{X: slices.Repeat([]float32{1}, 8*s.Features()), Y: make([]int32, 8)}
		})
		for k := range 50 {
			for picture := range slices.Chunk(next(k).X, s.Features()) {
				if !slices.Contains(picture, 1) {
					empty++
				}
			}
		}
		if empty == 0 || empty == 400 {
			t.Errorf("%+v: %d of 400 crops are empty, want some", s, empty)
		}
	}
}

// pixels returns batches of n pictures of 9×9 pixels in which the middle alone is 1, beside a 2 on its right.
func pixels(n int) Batches {
	return func(int) sample.Batch {
		b := sample.Batch{X: make([]float32, 81*n), Y: make([]int32, n)}
		for p := range n {
			b.X[81*p+40], b.X[81*p+41] = 1, 2
		}
		return b
	}
}

// All 81 places and both directions are equally likely: chi-squared at about 6 standard deviations.
func TestCropsAreUniform(t *testing.T) {
	const rounds, batch = 200, 100
	places, mirrored := make([]float64, 81), 0
	changed := newAugmenter(t, 1, 0, sample.Shape{H: 9, W: 9, C: 1}).Change(pixels(batch))
	for k := range rounds {
		b := changed(k)
		for p := range batch {
			x := b.X[81*p : 81*(p+1)]
			at := slices.Index(x, 1)
			places[at]++
			if at%9 > 0 && x[at-1] == 2 {
				mirrored++
			}
		}
	}
	expected, chi := rounds*batch/81., 0.
	for _, n := range places {
		chi += (n - expected) * (n - expected) / expected
	}
	if limit := 80 + 6*math.Sqrt(2*80); chi > limit {
		t.Errorf("chi-squared of the places is %.0f, want at most %.0f: %v", chi, limit, places)
	}
	// Of the mirrored pictures, those whose middle lies in the first column hide the second pixel.
	if share := float64(mirrored) / (rounds * batch) * 9 / 8; math.Abs(share-0.5) > 0.025 {
		t.Errorf("a share of %.3f is mirrored, want 0.5", share)
	}
}

func TestAugmentationIsAddressed(t *testing.T) {
	shape := sample.Shape{H: 9, W: 9, C: 1}
	draw := func(seed uint64, worker, k int) []float32 {
		return newAugmenter(t, seed, worker, shape).Change(pixels(20))(k).X
	}
	used := newAugmenter(t, 1, 2, shape).Change(pixels(20))
	for k := range 5 {
		used(k)
	}
	if base := draw(1, 2, 5); !slices.Equal(used(5).X, base) {
		t.Error("round 5 after others is not round 5 at once")
	} else if slices.Equal(base, draw(2, 2, 5)) || slices.Equal(base, draw(1, 3, 5)) || slices.Equal(base, draw(1, 2, 6)) {
		t.Error("another seed, worker or round draws the same crops")
	}
}

func TestAugmentationNeedsPictures(t *testing.T) {
	for _, s := range []sample.Shape{{H: 1, W: 1, C: 123}, {H: 1, W: 30, C: 1}, {H: 30, W: 1, C: 1}} {
		if _, err := NewAugmenter(1, 0, s); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
}

func TestAugmentationAllocatesNothing(t *testing.T) {
	shard := glyphs(t, 10)
	sampler, err := data.NewSampler(1, 0, shard.Len(), 4)
	if err != nil {
		t.Fatal(err)
	}
	batches, k := newAugmenter(t, 1, 0, shard.Shape).Change(FromShard(shard, sampler)), 0
	if n := testing.AllocsPerRun(10, func() { batches(k); k++ }); n != 0 {
		t.Errorf("%v allocations per round, want 0", n)
	}
}
