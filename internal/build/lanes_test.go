package build

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/vec"
	"gossiptrainer/moniqua"
)

// A tracker mixes models and estimates of the mean gradient, each in a lane.
type tracker struct {
	x, y, last []float32
	alpha      algos.StepSize
	lanes      []algos.Codec
	mine       []byte
}

func (a *tracker) Plan() algos.Plan       { return algos.Plan{Hops: 2, Lead: 1} }
func (a *tracker) Params() []float32      { return a.x }
func (a *tracker) ExtraMemory() int       { return 0 }
func (a *tracker) Carries() []algos.Codec { return a.lanes }

func (a *tracker) Descend(k int, g []float32) error {
	vec.Add(a.y, a.y, g)
	vec.Sub(a.y, a.y, a.last)
	copy(a.last, g)
	vec.Axpy(a.x, -a.alpha(k), a.y)
	return nil
}

func (a *tracker) Send(k, hop int, dst []byte) ([]byte, error) {
	out, err := a.lanes[hop].Encode(dst, k, [][]float32{a.x, a.y}[hop])
	a.mine = out[len(dst):]
	return out, err
}

func (a *tracker) Mix(k, hop int, in []algos.Message) (algos.Mixed, error) {
	v := [][]float32{a.x, a.y}[hop]
	return a.lanes[hop].Mix(v, k, v, a.mine, in)
}

func (a *tracker) State(v *state.Visit) {
	v.Floats("y", a.y)
	v.Floats("last", a.last)
}

// tracking assembles a run of trackers, whose row has two lanes.
func tracking(t *testing.T, set ...string) *experiment.Run {
	t.Helper()
	r := assemble(t, append([]string{
		"topology.size=4", "train.rounds=40", "model.name=quadratic", "model.dim=300", "train.momentum=0",
	}, set...)...)
	r.Method().Sends.Lanes = []registry.Lane{{Models: true}, {}}
	if m := r.Modulo(); m != nil {
		m.Method.Sends.Lanes = r.Method().Sends.Lanes
		if len(m.Theta) > 0 {
			m.Theta = append(m.Theta, m.Theta[0])
		}
	}
	r.Method().Build = func(p registry.Parts) (gossip.Algorithm, error) {
		a := &tracker{x: p.X, y: make([]float32, len(p.X)), last: make([]float32, len(p.X)), alpha: p.Alpha, lanes: p.Codecs}
		return a, nil
	}
	return r
}

func TestLanesHaveNoiseAndThetaOfTheirOwn(t *testing.T) {
	r := tracking(t)
	codecs, err := newBuilder(r, 2, nil).codecs()
	if err != nil {
		t.Fatal(err)
	}
	models, others := codecs[0].(*moniqua.Codec), codecs[1].(*moniqua.Codec)
	if models.Seed != r.Config().Seed || others.Seed != rng.Stream(r.Config().Seed, 1<<31-17) {
		t.Errorf("seeds %d and %d", models.Seed, others.Seed)
	}
	if models.Control == nil || models.Control == others.Control {
		t.Error("one control of theta for both lanes")
	}
	ratio, step := models.Theta(0)/others.Theta(0), r.Config().Train.StepSize
	if math.Abs(ratio-step) > 1e-6 {
		t.Errorf("theta begins at %v and %v: that of models alone is in units of the step size, %v",
			models.Theta(0), others.Theta(0), step)
	}
}

// A run with lanes that stops and resumes with new objects equals the run without a stop.
func TestLanesGoOn(t *testing.T) {
	for _, theta := range []string{
		"{rule: adaptive}", "{rule: measured, verify: false}", "{rule: fixed, value: 1e-4}", "{rule: fixed, value: 50}",
	} {
		r := tracking(t, "algorithm.theta="+theta)
		want, saved := stops(t, r, []int{1, 7, 20, 40})
		for _, k := range []int{1, 7, 20} {
			if got := digest(t, r, resumed(t, r, saved[k]), 1); got != want {
				t.Errorf("%s, stopped at round %d: digest %s, want %s", theta, k, got, want)
			}
		}
		var names []string
		for _, part := range saved[7][0].Tensors {
			names = append(names, part.Name)
		}
		second := slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "machine/codec1/") })
		first := slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "machine/codec/") })
		if first != second {
			t.Errorf("%s: state of the lanes: %v and %v", theta, first, second)
		}
	}
}

// Both lanes together end near the run in full precision.
func TestLanesTrainAsInFullPrecision(t *testing.T) {
	loss := func(set ...string) float64 {
		r := tracking(t, append(set, "train.rounds=200", "train.schedule=constant", "train.step_size=0.2")...)
		all := workers(t, r)
		res := drive(t, r, all, 1)
		score, err := r.Scorer().Evaluate(res.Models.(score.InMemory).Mean())
		if err != nil {
			t.Fatal(err)
		}
		return score.Loss
	}
	full, lanes := loss("algorithm.bits=32"), loss()
	if !(lanes-full < 1e-4) {
		t.Errorf("loss %v in two lanes of 8 bits, %v in full precision", lanes, full)
	}
}

func TestLayoutsAreThoseOfTheLanes(t *testing.T) {
	r := tracking(t, "algorithm.theta={rule: measured, verify: false}")
	all := workers(t, r)
	hops := map[int]int{}
	for turn := range 30 {
		w := all[turn%len(all)]
		ready := w.Machine.Ready()
		for _, f := range ready.Send {
			if l := w.Coding.Layout(f); f.Kind == gossip.Data && l.Len() != len(f.Payload) {
				t.Errorf("round %d, hop %d: layout of %d bytes, payload of %d", f.Round, f.Hop, l.Len(), len(f.Payload))
			}
			hops[f.Hop]++
		}
		deliver(t, all, ready.Send)
		if ready.Compute {
			if err := w.Machine.Gradient(make([]float32, r.Dim()), 0, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if hops[0] == 0 || hops[1] == 0 {
		t.Errorf("frames by hop: %v", hops)
	}
}
