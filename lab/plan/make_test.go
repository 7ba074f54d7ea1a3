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
	if p.Counts.Untried == 0 || p.Counts.All != 13 {
		t.Errorf("%+v, want some that were not tried", p.Counts)
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
