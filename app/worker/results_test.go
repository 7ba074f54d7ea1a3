package worker

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestATestIsToldOfEachSecondAndAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			batch time.Duration
			want  []float64
		}{
			{200 * time.Millisecond, nil},
			{500 * time.Millisecond, []float64{0.5, 1}},
			{3 * time.Second, []float64{0.25, 0.5, 0.75, 1}},
			{700 * time.Millisecond, []float64{0.5, 1}},
		} {
			var told []float64
			watch := EachSecond(func(share float64) { told = append(told, share) })
			for done := 1; done <= 4; done++ {
				time.Sleep(tt.batch)
				watch(done, 4)
			}
			if !slices.Equal(told, tt.want) {
				t.Errorf("batches of %v: told %v, want %v", tt.batch, told, tt.want)
			}
		}
	})
}
