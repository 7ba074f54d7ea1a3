package sim

import (
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
)

// A message of 4000 bytes takes 1 ms to make and 1 ms to mix, and a frame 100 µs at each end. The gradient is ready
// before the messages.
func TestCodingTakesTime(t *testing.T) {
	const d, n, ms = 1000, 5, time.Millisecond
	network := shape.Network{Uplink: shape.Link{Rate: 8e6, Latency: 3 * ms}}
	way := time.Duration(2*WireBytes(StreamBytes(4*d), network.Uplink))*time.Microsecond + 3*ms
	coding := cost.Costs{Encode: 250 * ms, Mix: 250 * ms, Frame: 100 * time.Microsecond}
	const work = (1 + 2 + 0.4) * float64(ms)
	for _, c := range []struct {
		name  string
		costs cost.Costs
		cores int
		want  time.Duration
	}{
		{"nothing", cost.Costs{}, 0, way},
		{"coding", coding, 0, way + time.Duration(work)},
		{"cores for all", coding, n, way + time.Duration(work)},
		{"one core, coding is free", cost.Costs{}, 1, way},
		{"waking up", cost.Costs{Late: ms}, 0, way + ms},
		{"links", cost.Costs{Link: 1000 * ms}, 0, way + time.Duration(4*StreamBytes(4*d))*time.Microsecond},
	} {
		var last record.Step
		res := run(t, ring(t, n, d, algos.CTA), Options{
			Network: network, Compute: takes(ms), Costs: c.costs, Cores: c.cores,
			Observe: stepsTo(func(s record.Step) { last = s }),
		})
		if res.Time != rounds*c.want {
			t.Errorf("%s: a round takes %v, want %v", c.name, res.Time/rounds, c.want)
		}
		if last.Time != res.Time || last.Wait < c.want/2 || last.Codec == 0 && c.costs.Mix > 0 {
			t.Errorf("%s: the last step is %+v, the run ends at %v", c.name, last, res.Time)
		}
	}
}

// Workers that share a core take turns: a round takes at least the work of all, and less than if they did not overlap.
func TestCodingSharesTheCores(t *testing.T) {
	const n, ms = 5, time.Millisecond
	costs := cost.Costs{Encode: 250 * ms, Mix: 250 * ms}
	network := shape.Network{Uplink: shape.Link{Latency: 10 * ms}}
	res := run(t, ring(t, n, 1000, algos.CTA), Options{Network: network, Compute: takes(ms), Costs: costs, Cores: 1})
	if work := time.Duration(rounds * n * 4 * ms); res.Time < work || res.Time > work+rounds*10*ms {
		t.Errorf("%d rounds take %v, the work alone %v", rounds, res.Time, work)
	}
}

// Gradients of all workers share the cores as well.
func TestGradientsShareTheCores(t *testing.T) {
	res := run(t, ring(t, 6, 10, algos.CTA), Options{Compute: takes(time.Millisecond), Cores: 2})
	if want := 3 * rounds * time.Millisecond; res.Time != want {
		t.Errorf("%d rounds of 6 ms on 2 cores take %v, want %v", rounds, res.Time, want)
	}
}
