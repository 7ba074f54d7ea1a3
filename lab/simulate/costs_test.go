package simulate

import (
	"testing"
	"time"

	"gossiptrainer/internal/forecast"
)

func TestMeasuringBelongsToTheQuickestNetwork(t *testing.T) {
	_, quick := simulated(t, nil, "limit.rate=1gbit")
	_, slow := simulated(t, nil, "limit.rate=1mbit")
	if a, b := forecast.OnLinks(quick.Session.Run), forecast.OnLinks(slow.Session.Run); a >= b || a == 0 {
		t.Errorf("%v on links of 1 Gbit/s, %v on links of 1 Mbit/s", a, b)
	}
	given := takes(time.Millisecond)
	if err := given.Measure(t.Context(), nil, nil); err != nil || given.Compute.Gradient != time.Millisecond {
		t.Errorf("%v is measured, error %v", given.Compute, err)
	}
}
