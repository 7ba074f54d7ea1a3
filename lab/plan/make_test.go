package plan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/budget"
)

// request is one for four workers with machines of their own, which needs no processes.
func request(set ...string) Request {
	set = append([]string{"topology.size=4", "train.rounds=60", "output.every=2", "limit.rate=10mbit",
		"model.hidden=[8]"}, set...)
	return Request{Source: configs.Source{File: "ring8", Set: set}, Machines: 4, Budget: time.Minute,
		Axes: Axes{Algorithms: []string{"dpsgd", "choco"}, Bits: []int{32, 4}, Graphs: []string{"ring", "complete"},
			Steps: []int{1, 2}}}
}

// On a slow link fewer bits and more local steps are quicker, and the best candidate is a run file.
func TestAPlanFindsWhatSlowLinksNeed(t *testing.T) {
	p, err := Make(t.Context(), request("limit.rate=500kbit"))
	if err != nil {
		t.Fatal(err)
	}
	best := p.Rows[0]
	if best.Outcome != outcomeReached || !best.Frontier || best.Bits != 4 || best.Steps != 2 {
		t.Errorf("the best is %+v", best)
	}
	if p.Counts.All != 13 || p.Counts.Untried > 0 {
		t.Errorf("%+v, want 13 candidates, all tried", p.Counts)
	}
	if i := slices.IndexFunc(p.Rows, func(r Row) bool { return r.File }); i < 0 || p.Rows[i].Bits != 8 {
		t.Errorf("the run file is row %d, want 8 bit", i)
	}
	dense := slices.IndexFunc(p.Rows, func(r Row) bool { return r.String() == "D-PSGD, full precision, complete, H 1" })
	if dense < 0 || p.Rows[max(0, dense)].Round.Value < 5*best.Round.Value {
		t.Errorf("row %d, dense messages, takes %+v a round, the best %+v", dense, p.Rows[max(0, dense)].Round, best.Round)
	}
	if p.Best.Disk == nil || p.Best.Disk.Owners.Of(budget.Journal) == 0 || p.Best.Disk.Peers <= p.Best.Disk.Total {
		t.Errorf("the disk of the best: %+v, want that of its peers with their journals", p.Best.Disk)
	}
	file := filepath.Join(t.TempDir(), "best.yaml")
	if err := p.WriteBest(file); err != nil {
		t.Fatal(err)
	}
	loaded, err := configs.Load(configs.Source{File: file})
	if err != nil || loaded.Config.Algorithm.LocalSteps != 2 || loaded.Config.Topology.Size != 4 {
		t.Errorf("the run file of the best: error %v", err)
	}
}

// Candidates that the budget does not afford are counted, and the others have a plan.
func TestAShortBudgetIsSpentOnTheBetterCandidates(t *testing.T) {
	r := request("train.rounds=2000")
	r.Budget = time.Millisecond
	p, err := Make(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if p.Counts.Estimated == 0 || p.Counts.Untried > 0 || p.Counts.All != 13 {
		t.Errorf("%+v, want some that were only estimated", p.Counts)
	}
}

// A clock advances with every look at it, as on a machine with other work.
func clock(step time.Duration) (now func() time.Time, passed func() time.Duration) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := start
	return func() time.Time {
		at = at.Add(step)
		return at
	}, func() time.Duration { return at.Sub(start) }
}

// However slow the machine is, a plan ends with its budget, and all candidates have an answer. The budget goes to those
// that bytes and links favour.
func TestAPlanKeepsItsBudgetOnASlowMachine(t *testing.T) {
	for _, step := range []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second} {
		r := request("train.rounds=2000", "limit.rate=500kbit")
		r.Budget = 20 * time.Second
		var passed func() time.Duration
		r.Clock, passed = clock(step)
		p, err := Make(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		// The clock is read some times before the budget begins and after it has ended.
		if most := r.Budget + 40*step; passed() > most {
			t.Errorf("steps of %v: %v have passed, want at most %v", step, passed(), most)
		}
		if c := p.Counts; c.All != 13 || c.Untried > 0 || c.Estimated == 0 {
			t.Errorf("steps of %v: %+v, want every candidate simulated or estimated", step, c)
		}
		best := p.Rows[0]
		if best.Bits != 4 || best.Time == nil {
			t.Errorf("steps of %v: the best is %+v, want one of 4 bits on a slow link", step, best)
		}
		for _, row := range p.Rows {
			if row.Outcome == outcomeForeseen && row.Bits == 32 && row.Graph == "complete" && row.Steps == 1 {
				t.Errorf("steps of %v: the budget went to %s, which bytes rule out", step, row)
			}
		}
	}
}

// The estimate of a round is near that of its simulation where the link decides.
func TestEstimatesAreNearSimulations(t *testing.T) {
	r := request("limit.rate=500kbit")
	p, err := Make(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	short := r
	short.Clock, _ = clock(time.Minute)
	guessed, err := Make(t.Context(), short)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, row := range p.Rows {
		i := slices.IndexFunc(guessed.Rows, func(g Row) bool { return g.String() == row.String() })
		if guess := guessed.Rows[i]; guess.Outcome == outcomeEstimated {
			compared++
			if !near(guess.Round.Value, row.Round.Value, 0.3) || !near(guess.Bytes, row.Bytes, 0.15) {
				t.Errorf("%s: estimated %v s and %v bytes, simulated %v s and %v", row.Candidate, guess.Round.Value, guess.Bytes,
					row.Round.Value, row.Bytes)
			}
		}
	}
	if compared < 8 {
		t.Errorf("%d estimates", compared)
	}
}

func TestWrongRequestsNameTheKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.yaml")
	text := "name: mine\nmodel:\n  name: external\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Request){
		"model.name: plan simulates models that are built in": func(r *Request) { r.Source = configs.Source{File: file} },
		":3":                             func(r *Request) { r.Source = configs.Source{File: file} },
		"plan: --machines 3: want 1":     func(r *Request) { r.Machines = 3 },
		"plan: --cores -1: want":         func(r *Request) { r.Cores = -1 },
		"plan: --budget 0s: want":        func(r *Request) { r.Budget = 0 },
		"plan: --until: want one target": func(r *Request) { r.Until = []string{"time=5m"} },
		`plan: --until "los"`:            func(r *Request) { r.Until = []string{"los=1"} },
		"output.evaluate: is 0, so that": func(r *Request) { r.Until = []string{"accuracy=0.5"} },
		"algorithm.bits":                 func(r *Request) { r.Source.Set = []string{"algorithm.bits=77"} },
	} {
		r := request()
		change(&r)
		if _, err := Make(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
