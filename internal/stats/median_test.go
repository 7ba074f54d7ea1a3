package stats

import (
	"slices"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []time.Duration
		want   time.Duration
	}{{nil, 0}, {[]time.Duration{7}, 7}, {[]time.Duration{9, 2}, 5}, {[]time.Duration{9, 1, 4}, 4},
		{[]time.Duration{8, 2, 1 << 62, 4}, 6}} {
		before := slices.Clone(c.values)
		if got := Median(c.values); got != c.want || !slices.Equal(c.values, before) {
			t.Errorf("Median(%v) = %v, want %v; then %v", before, got, c.want, c.values)
		}
	}
	if got := Median([]float64{1, 0.5}); got != 0.75 {
		t.Errorf("Median(1, 0.5) = %v, want 0.75", got)
	}
}
