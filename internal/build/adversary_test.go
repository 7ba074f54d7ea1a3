package build

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// adversaryRounds are enough for all that a worker of five did before to be forgotten.
const adversaryRounds = 24

// A listener hears the frames that a machine sends.
type listener struct {
	gossip.Machine
	hear func(gossip.Frame)
}

func (l listener) Ready() gossip.Ready {
	ready := l.Machine.Ready()
	for _, f := range ready.Send {
		l.hear(f)
	}
	return ready
}

// responses runs an update rule in full precision, with a coordinate for each worker and round in which that worker
// alone
// has the gradient 1. It returns the messages of the last round, by lane and worker. Of a rule that is linear, message
// m
// changes by responses[lane][m][worker·rounds + round] with that gradient.
func responses(t *testing.T, set []string) [][][]float64 {
	t.Helper()
	n := len(workers(t, assemble(t, append(set, "algorithm.bits=32")...)))
	r := assemble(t, append(set, "algorithm.bits=32", fmt.Sprint("model.dim=", n*adversaryRounds))...)
	all := workers(t, r)
	choose(t, r, all, func(g []float32, rank topology.Rank, k int) {
		clear(g)
		g[int(rank)*adversaryRounds+k] = 1
	})
	lanes := make([][][]float64, len(r.Method().Lanes()))
	for lane := range lanes {
		lanes[lane] = make([][]float64, n)
	}
	for _, w := range all {
		w.Machine = listener{w.Machine, func(f gossip.Frame) {
			if f.Kind == gossip.Data && f.Round == adversaryRounds-1 {
				lanes[f.Piece][f.From] = floatsOf(f.Payload)
			}
		}}
	}
	drive(t, r, all, 1)
	return lanes
}

func floatsOf(payload []byte) []float64 {
	var all []float64
	for ; len(payload) > 0; payload = payload[4:] {
		all = append(all, float64(math.Float32frombits(binary.LittleEndian.Uint32(payload))))
	}
	return all
}

// No gradients within the bound drive two workers further apart than those that have the sign of each response. A
// coordinate is about one pair of workers that exchange in the last round, and one lane. The certified theta is never
// violated. A theta a little below the gaps that such gradients make, without any grid error, is violated.
func TestCertifiedThetaHoldsAgainstAnAdversary(t *testing.T) {
	kinds := []string{"ring:5", "one-peer-exponential:6", "base2:5", "static-exponential:5", "random-matching:6"}
	for _, algorithm := range []string{"dpsgd", "d2", "qg", "decentlam", "gt"} {
		for _, kind := range kinds {
			spec, err := topology.ParseSpec(kind)
			if err != nil {
				t.Fatal(err)
			}
			still := algorithm == "d2" || algorithm == "decentlam"
			if still && !spec.Kind.Static() || algorithm == "qg" && spec.Kind.Endless() {
				continue
			}
			t.Run(algorithm+" on "+kind, func(t *testing.T) {
				set := []string{
					"algorithm.name=" + algorithm, fmt.Sprint("topology.kind=", spec.Kind), fmt.Sprint("topology.size=", spec.N),
					"model.name=quadratic", "train.momentum=0", fmt.Sprint("train.rounds=", adversaryRounds),
					"train.schedule=constant", "train.step_size=0.1",
				}
				switch algorithm {
				case "d2":
					set = append(set, "topology.slack=0.8")
				case "qg", "decentlam":
					set = append(set, "algorithm.update.momentum=0.5")
				}
				attack(t, set)
			})
		}
	}
}

// attack checks the certified theta of a run, and thetas that are too small.
func attack(t *testing.T, set []string) {
	t.Helper()
	lanes := responses(t, set)
	apart, gaps := differences(assemble(t, append(set, "algorithm.bits=32")...).Graph(), lanes)
	gradients := func(g []float32, rank topology.Rank, k int) {
		for c, response := range apart {
			g[c] = float32(math.Copysign(1, response[int(rank)*adversaryRounds+k]))
		}
	}
	dim := fmt.Sprint("model.dim=", len(apart))
	for _, bits := range []string{"8", "16"} {
		r := assemble(t, append(set, dim, "algorithm.bits="+bits, "algorithm.theta={rule: certified, bound: 1}")...)
		if wrong := violations(t, r, gradients); wrong > 0 {
			t.Errorf("%s bits: %d messages are recovered wrongly with the certified theta", bits, wrong)
		}
	}
	const below, large = 0.97, 1000
	for lane, gap := range gaps {
		rule := fmt.Sprintf("algorithm.theta={rule: fixed, value: %v, bound: 1}", below*gap)
		switch {
		case lane == 1:
			rule = fmt.Sprintf("algorithm.theta={rule: fixed, value: %v, second: %v, bound: 1}", large, below*gap)
		case len(gaps) == 2:
			rule = fmt.Sprintf("algorithm.theta={rule: fixed, value: %v, second: %v, bound: 1}", below*gap, large)
		}
		if violations(t, assemble(t, append(set, dim, "algorithm.bits=16", rule)...), gradients) == 0 {
			t.Errorf("lane %d: a theta of %v times the gap of %v is never violated", lane, below, gap)
		}
	}
}

// differences returns the responses of the difference of two messages, for all pairs that exchange in the last round
// and
// all lanes. It also returns the largest gap of each lane that gradients within ±1 can make.
func differences(g *topology.Graph, lanes [][][]float64) (apart [][]float64, gaps []float64) {
	const rounding = 1e-6 // a response below it is none
	gaps = make([]float64, len(lanes))
	for lane, messages := range lanes {
		for i, mine := range messages {
			for _, e := range g.Row(topology.Rank(i), adversaryRounds-1).In {
				difference, gap := make([]float64, len(mine)), 0.0
				for c, v := range mine {
					if d := v - messages[e.Peer][c]; math.Abs(d) > rounding {
						difference[c] = d
						gap += math.Abs(d)
					}
				}
				apart, gaps[lane] = append(apart, difference), max(gaps[lane], gap)
			}
		}
	}
	return apart, gaps
}
