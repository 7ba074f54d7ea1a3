package script

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gossiptrainer/gossip/retrace"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/internal/witness"
	"gossiptrainer/node/hall"
	"gossiptrainer/topology"
)

// A world is a run whose members come and go, without a network: each member does its rounds for itself, and members
// meet in the calls of their scripts. Member i trains from round from[i] on.
type world struct {
	t      *testing.T
	log    *views.Log
	rounds int
	all    map[views.ID]*Member
	gone   map[views.ID]bool // members that no other one reaches
	mu     sync.Mutex
	said   map[views.ID]*witness.Page
}

// named returns a member whose key is its name.
func named(id views.ID) views.Member {
	return views.Member{ID: id, Name: fmt.Sprint("m", id), Key: fmt.Sprint("m", id)}
}

// newWorld returns the world of some founders. Newcomers join in the views that follow, one in each round of joins.
func newWorld(t *testing.T, founders, rounds int, joins ...int) *world {
	t.Helper()
	record := views.Record{}
	for id := range views.ID(founders) {
		record.Members = append(record.Members, named(id))
	}
	log, err := views.New(topology.Spec{Kind: topology.Complete, Slack: 1}, record)
	if err != nil {
		t.Fatal(err)
	}
	for i, first := range joins {
		next := views.Record{View: i + 1, First: first, Why: "machine joins", Members: slices.Clone(record.Members)}
		id := views.ID(founders + i)
		next.Members = append(next.Members, named(id))
		next.Sponsors = []views.Sponsor{{ID: id, Sponsor: 0}}
		if err := log.Add(next); err != nil {
			t.Fatal(err)
		}
		record = next
	}
	return &world{t: t, log: log, rounds: rounds, all: map[views.ID]*Member{}, gone: map[views.ID]bool{},
		said: map[views.ID]*witness.Page{}}
}

// Ask is that of a Hall.
func (w *world) Ask(ctx context.Context, who views.Member, r hall.Request, most int64) ([]byte, error) {
	w.mu.Lock()
	m, gone := w.all[who.ID], w.gone[who.ID]
	w.mu.Unlock()
	if m == nil || gone {
		return nil, errors.New("no route")
	}
	body, err := m.Give(ctx, "a key", r)
	if int64(len(body)) > most {
		w.t.Errorf("%s: an answer of %d bytes, at most %d", r.What, len(body), most)
	}
	return body, err
}

// start starts the script of a member.
func (w *world) start(id views.ID, words string) *Member {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	out := &witness.Page{}
	c, err := Begin(w.t.Context(), Options{Command: []string{self, actor, words}, Out: out, Views: true,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	m := NewMember(c, Plan{Run: "test", Rounds: w.rounds, Grace: time.Second})
	m.Live(w)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[id], w.said[id] = m, out
	return m
}

// live does the rounds of a member from one on, and ends its script.
func (w *world) live(id views.ID, first int) error {
	c, x, g := w.all[id], []float32{float32(id)}, []float32{0}
	for k := first; k < w.rounds; k++ {
		if err := w.round(c, id, k, x, g); err != nil {
			c.Leave(err.Error(), 0, nil)
			w.lose(id)
			return err
		}
	}
	_, _, err := c.Finish(w.t.Context(), w.rounds, x)
	return err
}

// lose makes all others know that a member is dead.
func (w *world) lose(id views.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[id] = true
	for _, m := range w.all {
		m.Hears(views.Record{Dead: []views.Death{{ID: id, Last: -1}}})
	}
}

// round does one round. Scripts step from x to their id.
func (w *world) round(c *Member, id views.ID, k int, x, g []float32) error {
	c.Sees(retrace.Place{Log: w.log, View: w.log.Force(k), ID: id}, 1)
	_, err := c.Gradient(g, k, x)
	x[0] -= g[0]
	return err
}

// lines returns what the script of a member has printed, without its name.
func (w *world) lines(id views.ID) (all []string) {
	for line := range strings.Lines(w.said[id].String()) {
		_, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		all = append(all, text)
	}
	return all
}

// run runs members with the words of their scripts. from has the first rounds of newcomers.
func (w *world) run(words []string, from map[int]int) []error {
	errs := make([]error, len(words))
	var all sync.WaitGroup
	for id := range words {
		w.start(views.ID(id), words[id])
	}
	for id := range words {
		all.Go(func() { errs[id] = w.live(views.ID(id), from[id]) })
	}
	all.Wait()
	return errs
}

func checkLines(t *testing.T, who int, got []string, want ...string) {
	t.Helper()
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("member %d has\n%s\nwant\n%s", who, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A newcomer hears the view in which it begins, and the others hear of it. Calls are those of the members of the round,
// whatever calls came before. After the last round all call each other as ever.
func TestScriptsMeetInTheViewOfTheMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, 4, 2)
	later := "reduce mean broadcast step barrier step mean"
	for id, err := range w.run([]string{"reduce step step " + later, "reduce step step " + later, later},
		map[int]int{2: 2}) {
		if err != nil {
			t.Errorf("member %d: %v", id, err)
		}
	}
	two := `{"view":0,"rank":%d,"size":2,"id":%[1]d,"members":[{"id":0,"name":"m0"},{"id":1,"name":"m1"}],"why":""}`
	three := `{"view":1,"rank":%d,"size":3,"id":%[1]d,"members":[{"id":0,"name":"m0"},{"id":1,"name":"m1"},` +
		`{"id":2,"name":"m2"}],"why":"machine joins"}`
	for id := range 3 {
		want := []string{fmt.Sprintf("VIEW 2 "+three, id), `reduce 6 {"kind":"reduce","round":2,"moved":false}`, "mean 1 ",
			"broadcast root ", `barrier {"kind":"barrier","round":3,`, "END 4 ", `mean 1 {"kind":"mean","round":4,`}
		if id < 2 {
			want = append([]string{fmt.Sprintf("VIEW 0 "+two, id), `reduce 3 {"kind":"reduce","round":0,`}, want...)
		}
		checkLines(t, id, w.lines(views.ID(id)), want...)
	}
}

// A call waits for no member that a record names as dead, and says so.
func TestACallLeavesTheDeadOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, 3)
	w.gone[2] = true
	for id := range views.ID(2) {
		w.start(id, "reduce step loop mean")
	}
	var all sync.WaitGroup
	for id := range views.ID(2) {
		all.Go(func() {
			if err := w.live(id, 0); err != nil {
				t.Errorf("member %d: %v", id, err)
			}
		})
	}
	for id := range views.ID(2) { // they wait for it
		for b := w.all[id].board; b.wait(t.Context(), func() bool { return len(b.parts) > 0 }) != nil; {
		}
		w.all[id].Hears(views.Record{Dead: []views.Death{{ID: 2, Last: -1}}})
	}
	all.Wait()
	for id := range 2 {
		checkLines(t, id, w.lines(views.ID(id)), "VIEW 0 ",
			`reduce 3 {"kind":"reduce","round":0,"moved":false,"missing":{"2":"it is gone"}}`, "END 3 ",
			`mean 0.5 {"kind":"mean","round":3,"moved":false,"missing":{"2":"it is gone"}}`)
	}
}

// A script that takes no further step leaves a member that mixes without updates, and makes its calls at the end.
func TestAMemberWithoutSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, 4)
	words := []string{"step finish mean", "loop mean", "step"}
	for id, err := range w.run(words, nil) {
		if err != nil {
			t.Errorf("member %d: %v", id, err)
		}
	}
	checkLines(t, 0, w.lines(0), "VIEW 0 ", "END 4 in mean ", `mean 1 {"kind":"mean","round":4,`)
	checkLines(t, 1, w.lines(1), "VIEW 0 ", "END 4 ", `mean 1 {"kind":"mean","round":4,"moved":false}`)
}

// A script ends with the reason if it does what scripts cannot do where members come and go. So it does in a call that
// another script does not make.
func TestRefusedActsOfMembers(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"stop":              "Ctrl-C leaves the run",
		"refresh":           "unfreeze them before join",
		"leave":             "end the script",
		"barrier loop|loop": "and has made no such call in round 0",
		"barrier|reduce":    "all members call the same functions in the same rounds",
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			scripts := strings.Split(words, "|")
			w := newWorld(t, len(scripts), 3)
			errs := w.run(scripts, nil)
			_, failed := errors.AsType[*Error](errs[0])
			if !failed || !strings.Contains(errs[0].Error(), want) {
				t.Errorf("error %v, want %q", errs[0], want)
			}
		})
	}
}

// A script that cannot follow the members is refused.
func TestAScriptWithoutViews(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, err = Begin(t.Context(), Options{Command: []string{self, actor, "loop"}, Out: t.Output(), Views: true,
		Env: []string{"PLAYER_OLD=1"}, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "does not say in its HELLO that it takes views") {
		t.Errorf("error %v", err)
	}
}

// A machine that was taken for dead comes back with the same script. The step of its earlier life is dropped, and a
// call of it is over.
func TestAMachineComesBackWithItsScript(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, 20, 10) // it comes back as member 2
	c := w.start(1, "step reduce loop")
	x, g := []float32{1}, []float32{0}
	if err := w.round(c, 1, 0, x, g); err != nil {
		t.Fatal(err)
	}
	w.gone[0] = true
	over, failed := c.Live(w), make(chan error, 1)
	go func() { failed <- w.round(c, 1, 1, x, g) }()
	for b := c.board; b.wait(t.Context(), func() bool { return len(b.parts) > 0 }) != nil; {
	}
	over()
	if err := <-failed; !errors.Is(err, errStopping) {
		t.Fatalf("a life that is over: error %v", err)
	}
	c.Live(w)
	for k := 10; k < 13; k++ {
		if err := w.round(c, 2, k, x, g); err != nil {
			t.Fatal(err)
		}
	}
	c.Leave("enough", 13, x)
	checkLines(t, 1, w.lines(1), "VIEW 0 ", `reduce 2 {"kind":"reduce","round":1,"moved":false,"missing":{"0":"it is gone"}}`,
		`VIEW 10 {"view":1,"rank":2,"size":3,"id":2,`, `END 13 {"why":"interrupted","message":"enough"`)
}

// All founders begin with the vector of the first one.
func TestFoundersShareOneStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, 1)
	for id := range views.ID(3) {
		w.start(id, "loop").child.start = []float32{float32(id) + 0.5}
	}
	var all sync.WaitGroup
	for id := range views.ID(3) {
		all.Go(func() {
			founders := w.log.At(0).Members
			w.all[id].plan.Grace = 0
			x, err := w.found(id, founders)
			if err != nil || !slices.Equal(x, []float32{0.5}) {
				t.Errorf("member %d begins with %v, error %v", id, x, err)
			}
		})
	}
	all.Wait()
}

// found is Found of a member; the first one knows the others by their keys.
func (w *world) found(id views.ID, founders []views.Member) ([]float32, error) {
	c := w.all[id]
	c.hall = keyed{w, named(id).Key}
	return c.Found(w.t.Context(), founders, id)
}

// keyed asks in the name of a key.
type keyed struct {
	*world
	key string
}

func (k keyed) Ask(ctx context.Context, who views.Member, r hall.Request, _ int64) ([]byte, error) {
	return k.all[who.ID].Give(ctx, k.key, r)
}
