package retrace_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/retrace"
	"gossiptrainer/gossip/state"
	"gossiptrainer/gossip/view"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

const (
	dim   = 4
	alpha = 0.125
)

// A world makes the members of a test. Member id has the objective |A x − b|²/2, with a diagonal A and a vector b.
type world struct {
	rule    func(p retrace.Place, x []float32) gossip.Algorithm
	every   int
	mistake func(p *retrace.Place)

	models map[int]map[view.ID][]float32 // by round
	steps  map[int]map[view.ID][]float32 // the directions, by round
	begun  map[int]map[view.ID]gossip.Algorithm
}

// A hand is a member of the world.
type hand struct {
	w       *world
	p       retrace.Place
	machine *gossip.Worker
}

func (h *hand) Machine() *gossip.Worker { return h.machine }
func (h *hand) Save(*state.Snapshot)    {}

func (h *hand) Gradient(k int, x []float32) ([]float32, float32, error) {
	g := make([]float32, len(x))
	for i := range g {
		a := 0.25 + float32((int(h.p.ID)*7+i*3)%5)/4
		g[i] = a*x[i] - float32((int(h.p.ID)*5+i)%7) + 3
	}
	enter(h.w.steps, k, h.p.ID, g)
	return g, 0, nil
}

func enter(all map[int]map[view.ID][]float32, k int, id view.ID, x []float32) {
	if all[k] == nil {
		all[k] = map[view.ID][]float32{}
	}
	all[k][id] = slices.Clone(x)
}

func (w *world) Boundary(k int, id view.ID, x []float32) { enter(w.models, k, id, x) }

func (w *world) Restarted(int, int, view.ID, []float32) {}

func (w *world) Enter(p retrace.Place) (retrace.Member, error) {
	if w.mistake != nil {
		w.mistake(&p)
	}
	x := make([]float32, dim)
	for i := range x {
		x[i] = float32(int(p.ID)+i) / 4
	}
	rule := w.rule(p, x)
	h := &hand{w: w, p: p}
	schedule := gossip.Schedule{Rounds: p.Rounds, Every: w.every}
	var err error
	if p.State == nil {
		h.machine, err = gossip.NewScheduled(p.ID, p.Rows, rule, schedule)
		return h, err
	}
	h.machine, err = gossip.Enter(p.ID, p.Rows, rule, schedule, p.Entrance)
	if w.begun[p.Round] == nil {
		w.begun[p.Round] = map[view.ID]gossip.Algorithm{}
	}
	w.begun[p.Round][p.ID] = rule
	return h, err
}

func newWorld(rule func(p retrace.Place, x []float32) gossip.Algorithm) *world {
	return &world{rule: rule, every: 1, models: map[int]map[view.ID][]float32{}, steps: map[int]map[view.ID][]float32{},
		begun: map[int]map[view.ID]gossip.Algorithm{}}
}

func step(int) float32 { return alpha }

func dpsgd(_ retrace.Place, x []float32) gossip.Algorithm {
	return &algos.DPSGD{X: x, Alpha: step, Codec: algos.Full{}}
}

func d2(_ retrace.Place, x []float32) gossip.Algorithm {
	return &algos.D2{X: x, Alpha: step, Codec: algos.Full{}}
}

func tracking(_ retrace.Place, x []float32) gossip.Algorithm {
	full := algos.Full{Piece: 1 << 20}
	return &algos.GT{X: x, Alpha: step, Lanes: []algos.Codec{full, full}, Eta: 1}
}

func compressions(topology.Rank) quant.Compressor {
	c, err := quant.NewTopK(2)
	if err != nil {
		panic(err)
	}
	return c
}

func choco(_ retrace.Place, x []float32) gossip.Algorithm {
	return &algos.Choco{X: x, Alpha: step, Gamma: 0.25,
		Compression: algos.Compression{Own: compressions(0), Of: compressions}}
}

func squeeze(_ retrace.Place, x []float32) gossip.Algorithm {
	return &algos.DeepSqueeze{X: x, Alpha: step, Eta: 0.25,
		Compression: algos.Compression{Own: compressions(0), Of: compressions}}
}

func members(ids ...view.ID) (all []view.Member) {
	for _, id := range ids {
		all = append(all, view.Member{ID: id})
	}
	return all
}

func logOf(t *testing.T, kind topology.Kind, records ...view.Record) *view.Log {
	t.Helper()
	log, err := view.New(topology.Spec{Kind: kind, Slack: 0.75, Seed: 5}, records[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records[1:] {
		r.View = i + 1
		if err := log.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

var founders = view.Record{Members: members(0, 1, 2, 3, 4)}

// sum returns the sum of vectors of members.
func sum(all map[view.ID][]float32, ids []view.ID) []float64 {
	s := make([]float64, dim)
	for _, id := range ids {
		for i, v := range all[id] {
			s[i] += float64(v)
		}
	}
	return s
}

// near reports a difference of vectors beyond the rounding of float32.
func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 2e-5*max(1, math.Abs(want[i]))) {
			t.Errorf("%s: [%d] is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// scenarios are logs with each change.
func scenarios(t *testing.T, kind topology.Kind) map[string]*view.Log {
	t.Helper()
	return map[string]*view.Log{
		"none": logOf(t, kind, founders),
		"join": logOf(t, kind, founders, view.Record{First: 3, Members: members(0, 1, 2, 3, 4, 5),
			Sponsors: []view.Sponsor{{ID: 5, Sponsor: 2}}}),
		"leave": logOf(t, kind, founders, view.Record{First: 4, Members: members(0, 1, 3, 4), Left: []view.ID{2}}),
		"die": logOf(t, kind, founders, view.Record{First: 6, Members: members(0, 1, 2, 4),
			Dead: []view.Death{{ID: 3, Last: 3}}}),
		"all": logOf(t, kind, founders,
			view.Record{First: 3, Members: members(0, 1, 2, 3, 4, 5), Sponsors: []view.Sponsor{{ID: 5, Sponsor: 2}}},
			view.Record{First: 7, Members: members(0, 1, 2, 4, 5, 6), Dead: []view.Death{{ID: 3, Last: 4}},
				Sponsors: []view.Sponsor{{ID: 6, Sponsor: 5}}},
			view.Record{First: 9, Members: members(0, 4, 5, 6), Left: []view.ID{1, 2}}),
		"alone": logOf(t, kind, founders, view.Record{First: 5, Members: members(4), Left: []view.ID{0, 1, 2, 3}},
			view.Record{First: 8, Members: members(4, 5), Sponsors: []view.Sponsor{{ID: 5, Sponsor: 4}}}),
	}
}

var kinds = []topology.Kind{topology.Ring, topology.Torus, topology.Complete, topology.Star, topology.Base2,
	topology.OnePeerExponential, topology.RandomMatching, topology.RandomShift, topology.StaticExponential}

// settled reports whether no exchange lacks a member that has died. Then any algorithm
// moves the sum by gradients alone.
func settled(log *view.Log, x int) bool {
	for v := range log.Len() {
		for _, d := range log.At(v).Dead {
			if d.Last <= x && x < log.At(v).First {
				return false
			}
		}
	}
	return true
}

// checkSums runs a log and compares the sums over the survivors of each exchange. It returns the rounds that differ.
func checkSums(t *testing.T, w *world, log *view.Log, mixes bool) (wrong []int) {
	t.Helper()
	const rounds = 14
	if err := retrace.Run(log, w, retrace.Plan{Rounds: rounds, Every: 1}, w); err != nil {
		t.Fatal(err)
	}
	for k := range rounds {
		if !mixes && !settled(log, k) {
			continue
		}
		ids := slices.DeleteFunc(log.At(log.Force(k)).IDs(), func(id view.ID) bool {
			last, dead := log.Dead(id)
			return log.Off(id, k) || dead && last == k
		})
		want, g := sum(w.models[k], ids), sum(w.steps[k], ids)
		moved := view.Moved(log, k, func(id view.ID) []float32 { return w.models[k][id] })
		got := sum(w.models[k+1], ids)
		for i := range want {
			want[i] += moved[i] - alpha*g[i]
			if !(math.Abs(got[i]-want[i]) <= 3e-5*max(1, math.Abs(want[i]))) {
				wrong = append(wrong, k)
				break
			}
		}
	}
	return wrong
}

// The mean of the models moves by gradients alone, but for deaths, which move it by view.Moved.
func TestTheMeanMovesByTheFormulas(t *testing.T) {
	for _, kind := range kinds {
		for name, log := range scenarios(t, kind) {
			if wrong := checkSums(t, newWorld(dpsgd), log, true); wrong != nil {
				t.Errorf("dpsgd %s %s: the sum moves otherwise in rounds %v", kind, name, wrong)
			}
		}
	}
}

// rules are those that forget something in Restart.
var rules = map[string]func(p retrace.Place, x []float32) gossip.Algorithm{
	"d2": d2, "gt": tracking, "choco": choco, "deepsqueeze": squeeze,
}

func TestRestartKeepsTheMean(t *testing.T) {
	for rule, make := range rules {
		for name, log := range scenarios(t, topology.Ring) {
			if wrong := checkSums(t, newWorld(make), log, false); wrong != nil {
				t.Errorf("%s ring %s: the sum moves otherwise in rounds %v", rule, name, wrong)
			}
		}
	}
	for _, kind := range kinds {
		for name, log := range scenarios(t, kind) {
			if wrong := checkSums(t, newWorld(tracking), log, false); wrong != nil {
				t.Errorf("gt %s %s: the sum moves otherwise in rounds %v", kind, name, wrong)
			}
		}
	}
}

// Without Restart the sums are those of members that are gone.
func TestNoRestartMovesTheMean(t *testing.T) {
	for _, rule := range []string{"d2", "gt", "choco"} {
		w := newWorld(rules[rule])
		w.mistake = func(p *retrace.Place) { p.Restart = false }
		if wrong := checkSums(t, w, scenarios(t, topology.Ring)["die"], false); wrong == nil {
			t.Errorf("%s: no restart, and the mean moves by gradients alone", rule)
		}
	}
}

// A newcomer has the model of its sponsor, and a leaver takes its model along.
func TestJoinsAndLeavesMoveTheMean(t *testing.T) {
	all := scenarios(t, topology.Ring)
	w := newWorld(dpsgd)
	if err := retrace.Run(all["join"], w, retrace.Plan{Rounds: 6, Every: 1}, w); err != nil {
		t.Fatal(err)
	}
	const k, n = 3, 5
	before, after := sum(w.models[k], []view.ID{0, 1, 2, 3, 4}), sum(w.models[k], []view.ID{0, 1, 2, 3, 4, 5})
	for i := range before {
		mean := before[i] / n
		near(t, "the mean after a join", []float64{after[i] / (n + 1)},
			[]float64{mean + (float64(w.models[k][2][i])-mean)/(n+1)})
	}
	if !slices.Equal(w.models[k][5], w.models[k][2]) {
		t.Errorf("the newcomer begins with %v, its sponsor has %v", w.models[k][5], w.models[k][2])
	}
	w = newWorld(dpsgd)
	if err := retrace.Run(all["leave"], w, retrace.Plan{Rounds: 6, Every: 1}, w); err != nil {
		t.Fatal(err)
	}
	before, after = sum(w.models[4], []view.ID{0, 1, 2, 3, 4}), sum(w.models[4], []view.ID{0, 1, 3, 4})
	for i := range before {
		mean := before[i] / n
		near(t, "the mean after a leave", []float64{after[i] / (n - 1)},
			[]float64{mean + (mean-float64(w.models[4][2][i]))/(n-1)})
	}
}

// A run whose members never change is the run of the same workers without views.
func TestOneViewIsAFixedRun(t *testing.T) {
	log := scenarios(t, topology.RandomMatching)["none"]
	w := newWorld(tracking)
	if err := retrace.Run(log, w, retrace.Plan{Rounds: 9, Every: 1}, w); err != nil {
		t.Fatal(err)
	}
	fixed := newWorld(tracking)
	var machines []*gossip.Worker
	for i, rows := range log.Graph(0).Sequences() {
		m, err := fixed.Enter(retrace.Place{ID: topology.Rank(i), Rows: rows, Rounds: 9})
		if err != nil {
			t.Fatal(err)
		}
		machines = append(machines, m.Machine())
	}
	for done := 0; done < len(machines); {
		done = 0
		for i, m := range machines {
			ready := m.Ready()
			for _, f := range ready.Send {
				f.Payload = slices.Clone(f.Payload)
				if err := machines[f.To].Receive(f); err != nil {
					t.Fatal(err)
				}
			}
			if ready.Compute {
				g, loss, err := (&hand{w: fixed, p: retrace.Place{ID: topology.Rank(i)}}).Gradient(ready.Round, ready.At)
				if err == nil {
					err = m.Gradient(g, loss, 0)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if ready.Done {
				done++
			}
		}
	}
	for i, m := range machines {
		if !slices.Equal(m.Params(), w.models[9][topology.Rank(i)]) {
			t.Errorf("worker %d ends with %v, with views %v", i, m.Params(), w.models[9][topology.Rank(i)])
		}
	}
}

func TestAbsurdPlansAreRefused(t *testing.T) {
	log := scenarios(t, topology.Ring)["none"]
	for _, p := range []retrace.Plan{{Rounds: -1, Every: 1}, {Rounds: 1}} {
		w := newWorld(dpsgd)
		want := fmt.Sprintf("retrace: %d rounds with an exchange in every %d: must be at least 0 and 1", p.Rounds, p.Every)
		if err := retrace.Run(log, w, p, w); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
