package build

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// A trial is a run with costs and faults.
type trial struct {
	*experiment.Run
	costs  cost.Costs
	script []fault.Fault
}

// An outcome is all that a simulation tells.
type outcome struct {
	sim.Result
	steps, scores []string // as JSON
	finals        []record.Final
	failed        string        // the error of a worker that has lost another one
	states        map[int]*held // by round
	recorded      map[int]int   // steps before the state of a round was taken
}

// A held is a state of a run, as files have it.
type held struct {
	whole   []byte
	workers [][]byte // by rank
	take    func(at sim.Boundary, h *held)
	drafts  []state.Snapshot
}

func (h *held) Len() int { return len(h.workers) }

func (h *held) Worker(rank int) (*state.Snapshot, error) { return decoded(h.workers[rank]) }

func (h *held) Put(rank int, s *state.Snapshot) {
	for len(h.drafts) <= rank {
		h.drafts = append(h.drafts, state.Snapshot{})
	}
	var part state.Snapshot
	s.CopyTo(&part)
	h.drafts[rank].Tensors = append(h.drafts[rank].Tensors, part.Tensors...)
}

func (h *held) Drop() {}

func (h *held) Take(at sim.Boundary, s *state.Snapshot) error {
	var err error
	h.whole, err = encoded(s)
	for i := range h.drafts {
		own, failed := encoded(&h.drafts[i])
		h.workers, err = append(h.workers, own), errors.Join(err, failed)
	}
	h.drafts = nil
	h.take(at, h)
	return err
}

func encoded(s *state.Snapshot) ([]byte, error) {
	var file bytes.Buffer
	err := checkpoint.Encode(&file, s)
	return file.Bytes(), err
}

func decoded(file []byte) (*state.Snapshot, error) {
	return checkpoint.Decode(bytes.NewReader(file), int64(len(file)))
}

// slowCoding takes about as long as the gradients and messages of the tests.
var slowCoding = cost.Costs{Encode: time.Second, Mix: time.Second, Repair: time.Second, Frame: 100 * time.Microsecond,
	Link: 200 * time.Millisecond}

// survived simulates a run whose gradients take times that differ, from the file of a state or from the beginning. It
// takes the state before the rounds after those for which due is true.
func (try *trial) survived(t testing.TB, from *held, due func(round int) bool) *outcome {
	t.Helper()
	r, costs, script := try.Run, try.costs, try.script
	out := &outcome{states: map[int]*held{}, recorded: map[int]int{}}
	var mu sync.Mutex
	observe := func(e record.Event) {
		mu.Lock()
		defer mu.Unlock()
		text, err := json.Marshal(e)
		if err != nil {
			t.Error(err)
		}
		if e.Score != nil {
			out.scores = append(out.scores, string(text))
		} else {
			out.steps = append(out.steps, string(text))
		}
	}
	opt := sim.Options{
		Network: r.Network(), Observe: observe, Costs: costs,
		Compute: func(rank topology.Rank, k int) time.Duration {
			spread := rng.At(rng.Stream(5, int(rank)), k).Uniform(0)
			return time.Duration(float64(1+3*spread) * float64(time.Millisecond))
		},
		Keep: &sim.Keeping{Due: due, Begin: func(int) sim.Draft {
			return &held{take: func(at sim.Boundary, h *held) {
				out.states[at.Round], out.recorded[at.Round] = h, len(out.steps)
			}}
		}},
	}
	if costs.Coding() {
		opt.Cores = 2
	}
	all, means := workers(t, r), r.Scorer().NewAverager(observe)
	latest := make([]int, len(all))
	if from != nil {
		opt.From = opened(t, from)
		means.GoOn(opt.From.Began())
		for i, round := range opt.From.Began() {
			latest[i] = round - 1
		}
		restart(t, all, opt.From)
	}
	news := func(e record.Event) {
		mu.Lock()
		again := e.Score.Round <= latest[e.Score.Rank]
		latest[e.Score.Rank] = max(latest[e.Score.Rank], e.Score.Round)
		mu.Unlock()
		if !again {
			observe(e)
		}
	}
	task := func(w *Worker) work.Task {
		task := *w.Task
		task.Every, task.Gradient = 1, means.Watched(w.Rank, Scored(w, w.Gradient, news))
		return task
	}
	var tasks []work.Task
	for _, w := range all {
		tasks = append(tasks, task(w))
	}
	if len(script) > 0 {
		opt.Faults = &sim.Faults{
			Script: script, Detect: 200 * time.Millisecond, Every: 3, Keep: 2,
			Revive: func(rank topology.Rank, s *state.Snapshot) (work.Task, error) {
				w, err := all[rank].Restart(s)
				if err != nil {
					return work.Task{}, err
				}
				all[rank] = w
				return task(w), nil
			},
		}
		if r.Config().Faults.OnLostNeighbor == "stop" {
			opt.Faults.Lost = peer.Fail
		}
	}
	var err error
	if out.Result, err = sim.Run(t.Context(), tasks, opt); err != nil {
		if _, lost := errors.AsType[*peer.LostError](err); !lost {
			t.Fatal(err)
		}
		out.failed = err.Error()
	}
	for i, w := range all {
		f := w.Final(record.Final{Rounds: out.Rounds[i], Sent: out.Sent[i], Messages: out.Messages[i], Time: out.Time})
		f.Theta, f.Bits = w.Bound(int(r.Config().Train.Rounds)), w.MeanBits()
		out.finals = append(out.finals, f)
	}
	return out
}

// restart replaces workers by those of a state.
func restart(t testing.TB, all []*Worker, from *sim.Saved) {
	t.Helper()
	for i := range all {
		s, err := from.Worker(i)
		if err == nil {
			all[i], err = all[i].Restart(s)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// opened reads a state.
func opened(t testing.TB, from *held) *sim.Saved {
	t.Helper()
	s, err := decoded(from.whole)
	if err != nil {
		t.Fatal(err)
	}
	saved, err := sim.Open(s, from)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// meetings are runs of workers that share no rounds.
var meetings = map[string][]string{
	"ad-psgd":           {"algorithm.name=adpsgd", "algorithm.theta={rule: fixed, value: 2}"},
	"ad-psgd, full":     {"algorithm={name: adpsgd, bits: 32}", "topology.kind=complete"},
	"ad-psgd, violated": {"algorithm={name: adpsgd, theta: {rule: fixed, value: 1e-4}}", "topology.kind=complete"},
	"ad-psgd, audited":  {"algorithm={name: adpsgd, theta: {rule: fixed, value: 1e-4, verify: false}}"},
	"ad-psgd, adaptive": {"algorithm.name=adpsgd", "topology.slack=0.5", "train.momentum=0"},
	"ad-psgd, measured": {"algorithm={name: adpsgd, theta: {rule: measured}}", "train.rounds=60"},
	"ad-psgd, slow":     {"algorithm.name=adpsgd", "train.slow={1: 7}", "train.rounds=30"},
}

// disturbed are runs with faults.
var disturbed = map[string][]string{
	"cut": {"train.rounds=30", "faults.script=[{at: 3, cut: [0, 1], for: 300ms}, {at: 9, cut: [2, 3], for: 20ms}, " +
		"{at: 12, cut: [1, 2], for: 1h}]"},
	"hang": {"train.rounds=30", "faults.script=[{at: 4, hang: 2, for: 2s}, {at: 12, hang: 0, for: 20ms}]"},
	"slow, rate": {"train.rounds=30", "faults.script=[{at: 2, slow: 1, by: 3, for: 40ms}, " +
		"{at: 50ms, rate: 300kbit, of: 2, for: 1s}]"},
	"kill": {"train.rounds=30", "faults.script=[{at: 4, kill: 2}, {at: 11, kill: 1, for: 1s}, {at: 60ms, kill: 2}]"},
}

// A simulation that goes on from a state equals the undisturbed one: its records, virtual times, bytes, scores and
// models, and the states that it takes later.
func TestSimulationsGoOnAsIfTheyHadNotStopped(t *testing.T) {
	runs := maps.Clone(memories)
	maps.Copy(runs, meetings)
	maps.Copy(runs, disturbed)
	for name, own := range runs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := []string{"topology.size=4", "train.rounds=14"}
			if !strings.Contains(name, "normalization") {
				base = append(base, "model.name=quadratic", "model.dim=300")
				base = append(base, bucketsOf(128)...)
			}
			r := remembering(t, own, append(base, "output.evaluate=3", "limit.rate=2mbit", "limit.latency=1ms",
				"limit.jitter=500us", "limit.loss=0.05"))
			rounds := int(r.Config().Train.Rounds)
			for turn, costs := range []cost.Costs{{}, slowCoding} {
				try := &trial{r, costs, experiment.Script(r.Config())}
				want := try.survived(t, nil, func(int) bool { return true })
				if len(want.states) < rounds/10 {
					t.Fatalf("%d states were taken in %d rounds", len(want.states), rounds)
				}
				for k, file := range want.states {
					if k%2 != turn || k > 5 && k < rounds-5 && k%40 > 1 {
						continue // each round with one of the costs
					}
					got := try.survived(t, file, func(round int) bool { return want.states[round+1] != nil })
					got.like(t, want, k)
				}
			}
		})
	}
}

// A run under any script goes on from any of its states, whatever its algorithm.
func TestAnyScriptGoesOnFromAnyState(t *testing.T) {
	all := maps.Clone(memories)
	maps.Copy(all, meetings)
	maps.DeleteFunc(all, func(name string, own []string) bool {
		return strings.Contains(name, "normalization") || own[len(own)-1] == "topology.size=1"
	})
	names := slices.Sorted(maps.Keys(all))
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "run")
		r := remembering(t, all[name], append(bucketsOf(64), "topology.size=4", "train.rounds=14", "model.name=quadratic",
			"model.dim=100", "output.evaluate=3", "limit.rate=2mbit", "limit.latency=1ms",
			"faults.on_lost_neighbor="+rapid.SampledFrom([]string{"wait", "stop"}).Draw(rt, "policy")))
		try := &trial{Run: r, costs: rapid.SampledFrom([]cost.Costs{{}, slowCoding}).Draw(rt, "costs")}
		try.script = drawScript(rt, r, min(int(r.Config().Train.Rounds), 30))
		every := rapid.IntRange(1, 7).Draw(rt, "every")
		due := func(round int) bool { return round%every == 0 }
		want := try.survived(t, nil, due)
		if len(want.states) == 0 {
			rt.Skip("no state: too many faults")
		}
		k := rapid.SampledFrom(slices.Sorted(maps.Keys(want.states))).Draw(rt, "from")
		got := try.survived(t, want.states[k], due)
		got.like(rt, want, k)
	})
}

// like compares a simulation that went on before round k with the undisturbed one.
func (o *outcome) like(t rapid.TB, want *outcome, k int) {
	t.Helper()
	if fmt.Sprint(o.Result, o.failed) != fmt.Sprint(want.Result, want.failed) {
		t.Errorf("from round %d: %+v %s, want %+v %s", k, o.Result, o.failed, want.Result, want.failed)
	}
	got, _ := json.Marshal(o.finals)
	if wanted, _ := json.Marshal(want.finals); string(got) != string(wanted) {
		t.Errorf("from round %d: the workers end with %s, want %s", k, got, wanted)
	}
	if rest := want.steps[want.recorded[k]:]; !slices.Equal(o.steps, rest) {
		t.Errorf("from round %d: other steps", k)
		for i := range min(len(rest), len(o.steps)) {
			if rest[i] != o.steps[i] {
				t.Fatalf("the first: %s, want %s", o.steps[i], rest[i])
			}
		}
	}
	for _, s := range o.scores {
		if !slices.Contains(want.scores, s) {
			t.Errorf("from round %d: another score %s", k, s)
		}
	}
	for round, got := range o.states {
		same(t, got, want.states[round], fmt.Sprintf("from round %d: before round %d", k, round))
	}
}

// same compares the states of two runs.
func same(t rapid.TB, got, want *held, where string) {
	t.Helper()
	if !bytes.Equal(got.whole, want.whole) {
		t.Errorf("%s: another state: %s", where, different(t, got.whole, want.whole))
	}
	for i, own := range got.workers {
		if !bytes.Equal(own, want.workers[i]) {
			t.Fatalf("%s: another state of worker %d: %s", where, i, different(t, own, want.workers[i]))
		}
	}
}

// different names the first tensor in which two states differ.
func different(t rapid.TB, file, want []byte) string {
	t.Helper()
	var all [2]*state.Snapshot
	for i, text := range [][]byte{file, want} {
		var err error
		if all[i], err = decoded(text); err != nil {
			t.Fatal(err)
		}
	}
	for i := range min(len(all[0].Tensors), len(all[1].Tensors)) {
		if got, want := all[0].Tensors[i], all[1].Tensors[i]; got.Name != want.Name || !bytes.Equal(got.Data, want.Data) {
			return fmt.Sprintf("%s %.300q, want %s %.300q", got.Name, got.Data, want.Name, want.Data)
		}
	}
	return "their numbers of tensors"
}
