package build

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fault"
	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// underScript simulates a run, and returns its digest.
func underScript(t testing.TB, r *experiment.Run, faults *sim.Faults) ([32]byte, sim.Result, error) {
	t.Helper()
	workers, err := All(r)
	if err != nil {
		t.Fatal(err)
	}
	if faults != nil {
		faults.Revive = func(rank topology.Rank, s *state.Snapshot) (work.Task, error) {
			w, err := workers[rank].Restart(s)
			if err != nil {
				return work.Task{}, err
			}
			workers[rank] = w
			return *w.Task, nil
		}
	}
	result, err := sim.Run(t.Context(), Tasks(workers), sim.Options{
		Compute: func(rank topology.Rank, k int) time.Duration {
			return time.Duration(8+(int(rank)+3*k)%5) * time.Millisecond
		},
		Faults: faults,
	})
	if err != nil {
		return [32]byte{}, result, err
	}
	var models []float32
	for _, w := range workers {
		models = append(models, w.Machine.Params()...)
	}
	return record.Digest(models), result, nil
}

// faultKinds are all kinds of faults; kills are drawn most often.
var faultKinds = []fault.Kind{fault.Kill, fault.Kill, fault.Cut, fault.Hang, fault.Slow, fault.Split, fault.Rate}

// drawScript draws faults of some workers and links in the first rounds of a run.
func drawScript(t *rapid.T, r *experiment.Run, rounds int) []fault.Fault {
	var edges [][2]topology.Rank
	for i := range r.N() {
		for _, j := range r.Rows()[i].At(0).Out {
			edges = append(edges, [2]topology.Rank{topology.Rank(i), j})
		}
	}
	var script []fault.Fault
	for range rapid.IntRange(1, 12).Draw(t, "faults") {
		f := fault.Fault{
			At:    fault.Moment{Round: rapid.IntRange(0, rounds-1).Draw(t, "round")},
			Kind:  rapid.SampledFrom(faultKinds).Draw(t, "kind"),
			Lasts: time.Duration(rapid.SampledFrom([]int{1, 30, 700, 9000}).Draw(t, "lasts")) * time.Millisecond,
			By:    3, Bits: 1e6,
		}
		if rapid.Bool().Draw(t, "timed") {
			after := time.Duration(rapid.IntRange(0, 20*rounds).Draw(t, "time"))
			f.At = fault.Moment{Timed: true, Time: after * time.Millisecond}
		}
		switch f.Kind {
		case fault.Cut:
			edge := rapid.SampledFrom(edges).Draw(t, "edge")
			f.Peers = edge[:]
		case fault.Split:
			f.Sides = [][]topology.Rank{{topology.Rank(rapid.IntRange(0, r.N()-1).Draw(t, "side"))}}
		default:
			f.Peers = []topology.Rank{topology.Rank(rapid.IntRange(0, r.N()-1).Draw(t, "peer"))}
			if f.Kind == fault.Kill && rapid.Bool().Draw(t, "at once") {
				f.Lasts = 0
			}
		}
		script = append(script, f)
	}
	return script
}

// Faults of workers that wait for each other do not change the result of a run. This holds for every algorithm, codec
// and compressor that carries state from round to round.
func TestAScriptChangesNoResult(t *testing.T) {
	type known struct {
		run  *experiment.Run
		want [32]byte
	}
	runs := map[string]*known{}
	for name := range memories {
		switch {
		case strings.Contains(name, "mqgrad"): // its bits depend on time
		case strings.Contains(name, "normalization"): // takes long
		case memories[name][len(memories[name])-1] == "topology.size=1": // has no neighbours
		default:
			runs[name] = nil
		}
	}
	names := slices.Sorted(maps.Keys(runs))
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "run")
		if runs[name] == nil {
			base := []string{"topology.size=4", "train.rounds=14", "model.name=quadratic", "model.dim=300"}
			k := &known{run: remembering(t, memories[name], append(base, bucketsOf(64)...))}
			var err error
			if k.want, _, err = underScript(t, k.run, nil); err != nil {
				t.Fatal(err)
			}
			runs[name] = k
		}
		k := runs[name]
		faults := &sim.Faults{
			Script: drawScript(rt, k.run, min(int(k.run.Config().Train.Rounds), 30)), Detect: 2 * time.Second,
			Every: rapid.IntRange(1, 6).Draw(rt, "every"), Keep: rapid.IntRange(1, 2).Draw(rt, "keep"),
		}
		if got, _, err := underScript(t, k.run, faults); err != nil || got != k.want {
			rt.Fatalf("digest %x, want %x, error %v after %v", got[:4], k.want[:4], err, faults.Script)
		}
	})
}
