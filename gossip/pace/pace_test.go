package pace

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/topology"
)

// A script is what a worker's script does: 's' steps, 'b' calls a barrier, 'm' a mean, 'f' finishes, 'x' stops the run.
// At its end it leaves.
type script string

// afterStop is what a script does after the end of a stopped run.
const afterStop script = "mb"

// An actor is one worker of a world: a ring, in which no worker is more than a round ahead of a neighbour.
type actor struct {
	p     *Pace
	do    script
	k     int    // rounds done
	part  int    // rounds to which it has contributed
	calls int    // made
	log   string // what happened at which round
	cut   int    // calls cut off
	over  bool   // its rounds are
	gone  bool   // no other worker needs it any more
}

// A world delivers states in any order, loses some, and repeats the newest ones.
type world struct {
	t      *testing.T
	random *rand.Rand
	all    []*actor
	met    map[int]map[int]bool // workers that have contributed to a call, by its number
}

func newWorld(t *testing.T, random *rand.Rand, scripts []script) *world {
	w := &world{t: t, random: random, met: map[int]map[int]bool{}}
	for rank, s := range scripts {
		w.all = append(w.all, &actor{p: New(topology.Rank(rank), len(scripts)), do: s})
	}
	return w
}

// act lets a worker do one thing, if it can.
func (w *world) act(i int) bool {
	a := w.all[i]
	n := len(w.all)
	if a.part > a.k { // completes the round when its neighbours have contributed
		if w.all[(i+1)%n].part <= a.k || w.all[(i+n-1)%n].part <= a.k {
			return false
		}
		a.k++
		return true
	}
	if a.gone || a.over && slices.ContainsFunc(w.all, func(a *actor) bool { return !a.over }) {
		return false // one that has done its rounds is there again when all have
	}
	if a.over {
		a.p.End()
	}
	s := a.p.Own()
	if _, why := a.p.Stopped(); why != "" && !s.Finished {
		a.p.Finish()
		return true
	}
	if a.stopped() && !a.over && !a.p.Waiting() { // its script waits for the end
		a.do = ""
	} else if !a.p.Waiting() && len(a.do) > 0 && (!s.Finished || a.do[0] != 's') {
		next := a.do[0]
		a.do = a.do[1:]
		switch next {
		case 's':
			a.p.Step(a.k)
			a.part++
		case 'f':
			a.p.Finish()
		case 'x':
			a.p.Stop("enough")
		default:
			a.calls++
			kind := map[byte]Kind{'b': Barrier, 'm': Mean}[next]
			if err := a.p.Call(a.calls, Call{Kind: kind, At: a.k}); err != nil {
				w.t.Fatal(err)
			}
		}
		return true
	}
	if !a.p.Waiting() && len(a.do) == 0 && !s.Left && (a.over || !a.stopped()) {
		a.p.Leave()
		return true
	}
	switch v, c := a.p.Next(a.k); v {
	case StandIn:
		a.part++
		return true
	case Meet:
		return w.meet(i, c)
	case Over:
		if a.over = true; a.p.Cuts() {
			if a.p.Cut() {
				a.cut++
			}
			if a.calls = a.p.Own().Calls; !s.Left {
				a.do = afterStop
			}
			return true
		}
		a.gone = s.Left && len(a.p.Missing()) == 0
		return true
	}
	return false
}

// stopped reports whether the script of a worker has finished because of a stop.
func (a *actor) stopped() bool {
	_, why := a.p.Stopped()
	return why != "" && a.p.Own().Finished
}

// meet has a worker contribute to a call. It is over for a worker when the others have contributed to a mean.
func (w *world) meet(i, c int) bool {
	a := w.all[i]
	if w.met[c] == nil {
		w.met[c] = map[int]bool{}
	}
	if !w.met[c][i] {
		a.log += fmt.Sprint(c, "@", a.k, " ")
		w.met[c][i] = true
	}
	if own, _ := a.p.Own().call(c); own.Kind == Mean && a.p.Waiting() && len(w.met[c]) < len(w.all) {
		return false
	}
	if a.p.Waiting() {
		a.p.Pass(a.k)
	}
	a.p.Met(c)
	return true
}

// tell has a random worker hear the newest state of another.
func (w *world) tell() {
	from, to := w.random.IntN(len(w.all)), w.random.IntN(len(w.all))
	s := w.all[from].p.Own()
	if err := s.Check(len(w.all), 1000); err != nil {
		w.t.Fatal(err)
	}
	if err := w.all[to].p.Heard(topology.Rank(from), s); err != nil {
		w.t.Fatal(err)
	}
}

// run goes on until all are over. A worker that is over goes on hearing, because others may still take a mean.
func (w *world) run() bool {
	for range 200_000 {
		if w.random.IntN(3) > 0 {
			w.tell()
		}
		w.act(w.random.IntN(len(w.all)))
		if !slices.ContainsFunc(w.all, func(a *actor) bool { return !a.gone }) {
			return true
		}
	}
	return false
}

// randomScripts draws scripts of n workers with one order of calls, and returns the largest count of steps.
func randomScripts(random *rand.Rand, n int) []script {
	calls := make([]byte, random.IntN(4))
	for i := range calls {
		calls[i] = "bm"[random.IntN(2)]
	}
	scripts := make([]script, n)
	for i := range scripts {
		var b strings.Builder
		for _, c := range calls {
			b.WriteString(strings.Repeat("s", random.IntN(6)))
			if random.IntN(8) == 0 {
				break // it ends early and makes no further call
			}
			b.WriteByte(c)
		}
		if random.IntN(3) > 0 {
			b.WriteString(strings.Repeat("s", random.IntN(6)))
		}
		scripts[i] = script(b.String())
		if at := strings.LastIndexByte(b.String(), 's'); at >= 0 && random.IntN(4) == 0 {
			scripts[i] = scripts[i][:at+1] + "f" + scripts[i][at+1:]
		}
	}
	return scripts
}

// Whatever the order and loss of messages, the run ends. All workers do the same rounds, and take part in each call
// before the same round. Two schedules give the same.
func TestRoundsDependOnCountsAlone(t *testing.T) {
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 1))
		scripts := randomScripts(random, 2+random.IntN(5))
		var before string
		for schedule := range uint64(3) {
			w := newWorld(t, rand.New(rand.NewPCG(seed, 2+schedule)), scripts)
			if !w.run() {
				t.Fatalf("seed %d, %q: the run does not end: %s", seed, scripts, w.state())
			}
			if got := w.result(); schedule > 0 && got != before {
				t.Fatalf("seed %d, %q:\n%s\nand in another order\n%s", seed, scripts, before, got)
			} else {
				before = got
			}
			for _, a := range w.all {
				if a.k != w.all[0].k || a.part != a.k || !a.over {
					t.Fatalf("seed %d, %q: rounds differ: %s", seed, scripts, w.state())
				}
			}
		}
	}
}

// A script that stops the run ends it for all after the same round. A call to which it does not come is cut off
// everywhere, and all agree about the numbers of later calls.
func TestAStopEndsTheRunForAll(t *testing.T) {
	cut := 0
	for seed := range uint64(1500) {
		random := rand.New(rand.NewPCG(seed, 3))
		scripts := randomScripts(random, 2+random.IntN(5))
		at := random.IntN(len(scripts))
		scripts[at] = scripts[at][:random.IntN(len(scripts[at])+1)]
		if strings.Contains(string(scripts[at]), "f") {
			continue
		}
		scripts[at] += "x"
		w := newWorld(t, random, scripts)
		if !w.run() {
			t.Fatalf("seed %d, %q: the run does not end: %s", seed, scripts, w.state())
		}
		for i, a := range w.all {
			if _, why := a.p.Stopped(); a.k != w.all[0].k || a.part != a.k || !a.over || why != "enough" {
				t.Fatalf("seed %d, %q: worker %d has stopped for %q: %s", seed, scripts, i, why, w.state())
			}
			cut += a.cut
		}
		last := w.all[at].p.Own().Calls
		for i, a := range w.all {
			if s := a.p.Own(); s.Calls != last && s.Cut < beyond || len(w.met[last]) < len(w.all) && s.Cut < beyond &&
				!w.met[last][i] {
				t.Fatalf("seed %d, %q: worker %d made %d calls, worker %d %d", seed, scripts, i, s.Calls, at, last)
			}
		}
	}
	if cut == 0 {
		t.Error("no call was cut off")
	}
}

// result says how many rounds there were and where each worker's calls were made.
func (w *world) result() string {
	var b strings.Builder
	for _, a := range w.all {
		fmt.Fprintf(&b, "%d rounds, calls %s\n", a.k, a.log)
	}
	return b.String()
}

func (w *world) state() string {
	var b strings.Builder
	for i, a := range w.all {
		v, c := a.p.Next(a.k)
		fmt.Fprintf(&b, "\n%d: rounds %d, part %d, to do %q, %+v, next %v %d", i, a.k, a.part, a.do, a.p.Own(), v, c)
	}
	return b.String()
}

func TestShortRuns(t *testing.T) {
	for _, test := range []struct {
		scripts []script
		want    string
	}{
		{[]script{"sss", "s", "ss"}, "3 rounds, calls \n3 rounds, calls \n3 rounds, calls \n"},
		{[]script{"sm", "sssm"}, "3 rounds, calls 1@3 \n3 rounds, calls 1@3 \n"},
		{[]script{"sbs", "sssb"}, "4 rounds, calls 1@3 \n4 rounds, calls 1@3 \n"},
		{[]script{"sfm", "sssfm"}, "3 rounds, calls 1@3 \n3 rounds, calls 1@3 \n"},
		{[]script{"m", ""}, "0 rounds, calls 1@0 \n0 rounds, calls 1@0 \n"},
		{[]script{"sbs", "ssss"}, "5 rounds, calls 1@4 \n5 rounds, calls \n"},
	} {
		w := newWorld(t, rand.New(rand.NewPCG(1, 1)), test.scripts)
		if !w.run() || w.result() != test.want {
			t.Errorf("%q:\n%swant\n%s%s", test.scripts, w.result(), test.want, w.state())
		}
	}
}

func TestCallsThatDiffer(t *testing.T) {
	p := New(0, 2)
	if err := p.Call(1, Call{Kind: Barrier}); err != nil {
		t.Fatal(err)
	}
	err := p.Heard(1, State{Calls: 1, Newest: []Call{{Kind: Reduce, Op: "sum"}}})
	if want := "worker 0 is in barrier 1, worker 1 in reduce 1: all workers call the same functions"; err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	if err := p.Call(2, Call{Kind: Barrier}); err == nil {
		t.Error("a second call while the first one waits")
	}
}

func TestStatesOfNoWorker(t *testing.T) {
	ok := State{Reached: 3, Calls: 2, Passed: 1, Newest: []Call{{Kind: Mean}, {Kind: Barrier, At: 3}}}
	if err := ok.Check(4, 10); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*State){
		"rounds":  func(s *State) { s.Reached = 11 },
		"passed":  func(s *State) { s.Passed = 3 },
		"ahead":   func(s *State) { s.Passed = 0 },
		"calls":   func(s *State) { s.Newest = append(s.Newest, Call{Kind: Mean}) },
		"none":    func(s *State) { s.Newest = nil },
		"kind":    func(s *State) { s.Newest = []Call{{Kind: "x"}} },
		"root":    func(s *State) { s.Newest = []Call{{Kind: Mean, Root: 4}} },
		"ranks":   func(s *State) { s.Newest = []Call{{Kind: Mean, Ranks: []int{1, 1}}} },
		"at":      func(s *State) { s.Newest = []Call{{Kind: Mean, At: -1}} },
		"leaving": func(s *State) { s.Left = true },
		"pauses":  func(s *State) { s.Pauses = -1 },
		"stop":    func(s *State) { s.Stop = "while it steps" },
		"long":    func(s *State) { s.Finished, s.Stop = true, strings.Repeat("x", MaxStop+1) },
		"cut":     func(s *State) { s.Finished, s.Cut = true, -1 },
	} {
		s := ok
		change(&s)
		if s.Check(4, 10) == nil {
			t.Errorf("%s: %+v is admitted", name, s)
		}
	}
}

// Workers without common rounds end for themselves.
func TestFreeWorkersEndForThemselves(t *testing.T) {
	p := New(0, 2)
	p.Free()
	p.Step(0)
	p.Finish()
	if v, _ := p.Next(1); v != Wait {
		t.Errorf("verdict %v of a free worker whose script may still call, want Wait", v)
	}
	p.Leave()
	if v, _ := p.Next(1); v != Over {
		t.Errorf("verdict %v of a free worker that has left, want Over", v)
	}
	q := New(0, 2)
	q.Free()
	if err := q.Call(1, Call{Kind: Mean, At: 5}); err != nil {
		t.Fatal(err)
	}
	if v, _ := q.Next(5); v != Wait {
		t.Errorf("verdict %v, want Wait", v)
	}
	if err := q.Heard(1, State{Reached: 9, Calls: 1, Newest: []Call{{Kind: Mean, At: 9}}}); err != nil {
		t.Fatal(err)
	}
	if v, c := q.Next(5); v != Meet || c != 1 {
		t.Errorf("verdict %v of call %d, want Meet 1", v, c)
	}
}
