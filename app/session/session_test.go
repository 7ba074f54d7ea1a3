package session

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/screen"
	"gossiptrainer/configs"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

func small(t *testing.T, set ...string) *experiment.Run {
	t.Helper()
	set = append([]string{"name=small", "topology.size=3", "train.rounds=30", "output.dir=" + t.TempDir()}, set...)
	if !slices.ContainsFunc(set, func(key string) bool { return strings.HasPrefix(key, "model=") }) {
		set = append(set, "model={name: quadratic, dim: 10}")
	}
	loaded, err := configs.Load(configs.Source{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// silent returns the options of a session that tells its user all in said.
func silent(mode, dir string, at Place, said io.Writer) Options {
	return Options{Mode: mode, Dir: dir, Version: "v1", Place: at, Screen: Screen{
		Talk:    said,
		Display: func(screen.Run) screen.Display { return screen.Silent(said) },
		Logger:  func(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) },
	}}
}

// started returns a session of a run, and what its user is told.
func started(t *testing.T, run *experiment.Run, mode, dir string) (*Session, *strings.Builder) {
	t.Helper()
	return resumed(t, run, mode, dir, Place{})
}

// resumed returns a session whose record is at a place, and what its user is told.
func resumed(t *testing.T, run *experiment.Run, mode, dir string, at Place) (*Session, *strings.Builder) {
	t.Helper()
	said := new(strings.Builder)
	s, err := Start(t.Context(), run, silent(mode, dir, at, said))
	if err != nil {
		t.Fatal(err)
	}
	return s, said
}

func TestASessionKeepsWhatPeersReport(t *testing.T) {
	run := small(t)
	s, said := started(t, run, "lab", "")
	if !strings.Contains(said.String(), "run folder: "+s.Folder.Dir+"\n") {
		t.Errorf("the folder is not in %q", said.String())
	}
	for rank := range 3 {
		s.Event(record.Event{Step: &record.Step{Rank: rank, Round: 30, Loss: 0.5}})
	}
	for _, rank := range []int{2, 0, 1} {
		s.Event(record.Event{Final: &record.Final{Rank: rank, Rounds: 30, Loss: 0.25, Digest: strings.Repeat("ab", 32)}})
	}
	summary, finals, err := s.Summary(nil)
	if err != nil || summary.Mode != "lab" || summary.Version != "v1" || len(finals) != 3 || finals[2].Rank != 2 {
		t.Fatalf("%+v, %v, error %v", summary, finals, err)
	}
	if err := s.Keep(summary); err != nil {
		t.Fatal(err)
	}
	s.End()
	kept, err := record.Open(s.Folder.Dir)
	if err != nil || len(kept.Events) != 6 || kept.Summary == nil {
		t.Errorf("%d events on record, error %v", len(kept.Events), err)
	}
	var table strings.Builder
	if err := s.WriteFinals(&table, finals, 0); err != nil || strings.Count(table.String(), "0.2500") != 3 {
		t.Errorf("error %v, printed\n%s", err, table.String())
	}
}

// The user hears of faults that did not happen, and so does a reader of the summary.
func TestFaultsThatDidNotHappen(t *testing.T) {
	s, said := started(t, small(t), "lab", "")
	defer s.End()
	kill := fault.Fault{At: fault.Moment{Round: 20}, Kind: fault.Kill, Peers: []topology.Rank{2}}
	s.Missed(kill, time.Second)
	kill.At.Round = 5
	s.Missed(kill, time.Second)
	s.Missed(fault.Fault{
		At: fault.Moment{Timed: true, Time: time.Minute}, Kind: fault.Hang, Peers: []topology.Rank{1}, Lasts: time.Second,
	}, 1234567*time.Microsecond)
	for rank := range 3 {
		s.Event(record.Event{Final: &record.Final{Rank: rank, Rounds: 7, Digest: strings.Repeat("ab", 32)}})
	}
	summary, _, err := s.Summary(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []record.MissedFault{
		{Fault: "kill 2", At: "round 20", Why: "the run ended after 7 rounds"},
		{Fault: "kill 2", At: "round 5", Why: "the run ended after 7 rounds, before the fault could begin"},
		{Fault: "hang 1 for 1s", At: "1m0s", Why: "the run ended after 1.235s"},
	}
	if !slices.Equal(summary.MissedFaults, want) {
		t.Errorf("the summary has %+v, want %+v", summary.MissedFaults, want)
	}
	const line = "warning: the fault kill 2 at round 20 did not happen: the run ended after 7 rounds; see "
	if !strings.Contains(said.String(), line) || strings.Count(said.String(), "did not happen") != 3 {
		t.Errorf("the user is told\n%s\nwithout %q, or of others", said.String(), line)
	}
}

func TestARunThatHasNotBegunLeavesNothing(t *testing.T) {
	s, _ := started(t, small(t), "lab", "")
	s.Event(record.Event{Status: &record.Status{Rank: 1, State: record.Joining}})
	s.End()
	if _, err := os.Stat(s.Folder.Dir); !os.IsNotExist(err) {
		t.Errorf("the folder is there: %v", err)
	}
}

func TestARunThatGoesOnCountsOn(t *testing.T) {
	run := small(t)
	first, _ := started(t, run, "run", "")
	first.Hear(record.Event{Step: &record.Step{Rank: 1, Round: 10, Time: time.Second}})
	m := checkpoint.Manifest{Run: "small", Rank: 1, Round: 10}
	if err := checkpoint.Write(runfolder.RankFolder(run.Config(), first.Folder.Dir, 1), m, new(state.Snapshot),
		2); err != nil {
		t.Fatal(err)
	}
	first.End()
	s, said := started(t, run, "run", first.Folder.Dir)
	s.SayResumed()
	s.Hear(record.Event{Step: &record.Step{Rank: 1, Round: 10, Time: time.Second}}) // once more
	s.Hear(record.Event{Step: &record.Step{Rank: 1, Round: 20, Time: 3 * time.Second}})
	if _, last := s.results(); len(last) != 1 {
		t.Errorf("%d last steps, want one", len(last))
	} else if got := last[0]; got.Round != 20 || got.Time != 4*time.Second {
		t.Errorf("the last step is of round %d at %v", got.Round, got.Time)
	}
	s.SayStopped("peer run x --resume")
	for _, want := range []string{
		"going on at round 10, from ", "the state at the beginning of round 10 is safe in ",
		"next: peer run x --resume   go on\n",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in\n%s", want, said.String())
		}
	}
	said.Reset()
	s.SayDiverged(3)
	if text := said.String(); !strings.Contains(text, "no state is offered: the model of worker 3 has diverged") ||
		!strings.Contains(text, "without --resume") || strings.Contains(text, "next:") {
		t.Errorf("after a divergence the user is told %q", text)
	}
	if lost := s.Lost("peer run x"); !strings.Contains(lost, "round 10 is safe") ||
		!strings.HasSuffix(lost, "go on with: peer run x") {
		t.Errorf("lost: %q", lost)
	}
	s.End()
}

func TestAFolderInUseIsRefused(t *testing.T) {
	run := small(t)
	s, _ := started(t, run, "lab", "")
	defer s.End()
	_, err := Start(t.Context(), run, Options{Mode: "lab", Dir: s.Folder.Dir})
	if _, locked := errors.AsType[*runfolder.LockedError](err); !locked {
		t.Errorf("error %v", err)
	}
}

func TestARunThatEndsEarlyIsShorter(t *testing.T) {
	s, _ := started(t, small(t, "train.schedule=cosine"), "sim", "")
	defer s.End()
	s.EndAt(Until{Time: time.Minute})
	s.Event(record.Event{Final: &record.Final{Rank: 0, Rounds: 20}})
	if s.Shorter() != 0 || s.LooksAhead() {
		t.Errorf("%d rounds though nothing has ended it", s.Shorter())
	}
	s.Simulated(2 * time.Minute)
	select {
	case <-s.Over():
	default:
		t.Error("it goes on")
	}
	if s.Shorter() != 20 || !s.LooksAhead() || s.ended() != "time=1m0s" {
		t.Errorf("%d rounds, ended by %q", s.Shorter(), s.ended())
	}
}

func TestTheTimeOfRealPeersBeginsWithTheirFirstRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &ending{Until: Until{Time: time.Minute}, goal: record.NewGoal(record.Targets{}, 2), over: make(chan struct{})}
		e.follow(2, 20*time.Second)
		time.Sleep(time.Hour)
		if e.reason() != "" {
			t.Error("it ends before a peer trains")
		}
		began := time.Now()
		e.see(record.Event{Status: &record.Status{State: record.Training}})
		<-e.over
		if took := time.Since(began); took != 40*time.Second || e.reason() != "time=1m0s" {
			t.Errorf("after %v by %q, want the 40 s that are left", took, e.reason())
		}
		e.close()
	})
}

func TestARunWithoutAPeerIsBereft(t *testing.T) {
	s, _ := started(t, small(t), "lab", "")
	defer s.End()
	s.Event(record.Event{Edge: &record.Edge{Rank: 0, Peer: 1, Weight: 0.3}})
	if s.Bereft() {
		t.Error("an edge with a weight is off")
	}
	s.Event(record.Event{Edge: &record.Edge{Rank: 0, Peer: 1}})
	if !s.Bereft() || len(s.Edges()) != 2 {
		t.Errorf("bereft %v with %d edges", s.Bereft(), len(s.Edges()))
	}
}

// A finished run of real peers offers what its models are for.
func TestNextStepsAreThoseThatWork(t *testing.T) {
	table := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(table, []byte("a,label\n"+strings.Repeat("1,x\n2,y\n", 50)), 0o666); err != nil {
		t.Fatal(err)
	}
	images, own := []string{"model={name: logistic}"}, []string{"model={name: logistic}",
		"data={name: file, path: " + table + "}", "train.batch=4"}
	for _, test := range []struct {
		mode string
		set  []string
		want []string // with D for the run folder
	}{
		{"run", nil, []string{"peer average D/peer-*.safetensors -o D/model.safetensors"}},
		{"run", images, []string{"peer average D/peer-*.safetensors -o D/model.safetensors",
			"peer evaluate D/model.safetensors -o small-classes.png"}},
		{"run", own, []string{"peer average D/peer-*.safetensors -o D/model.safetensors",
			"peer evaluate D/model.safetensors -o small-classes.png",
			"peer predict D/model.safetensors " + table + " -o classes.csv"}},
		{"run", append(own, "data.partition=local"), []string{"peer average D/peer-*.safetensors -o D/model.safetensors",
			"peer predict D/model.safetensors " + table + " -o classes.csv"}},
		{"lab", nil, nil},
		{"lab", images, []string{"peer evaluate D/model.safetensors -o small-classes.png"}},
		{"sim", own, nil},
	} {
		s, _ := started(t, small(t, test.set...), test.mode, "")
		var got []string
		for _, step := range s.Next() {
			got = append(got, strings.ReplaceAll(step.Command, s.Folder.Dir, "D"))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s %v: %q, want %q", test.mode, test.set, got, test.want)
		}
		s.End()
	}
}

// A member on a LAN has its own result and the digest of all. Tables name members by id.
func TestTheSummaryOfAMember(t *testing.T) {
	m := Members{IDs: []int{0, 4, 9}, Finals: []record.Final{{Rank: 2, Rounds: 30}}, Digest: "ab",
		Rounds: []int{31, 32, 30}}
	s := record.Summary{Peers: 3, Rounds: 30, Time: 2, Missing: []int{0, 1}, PerWorker: []int{0, 0, 30}}
	if m.concludes(&s); s.Digest != "ab" || s.Missing != nil || s.Steps != 93 || s.Rate != 46.5 || s.Rounds != 30 ||
		!slices.Equal(s.PerWorker, []int{31, 32, 30}) {
		t.Errorf("%+v", s)
	}
	if got := m.numbered(m.Finals); got[0].Rank != 9 || m.Finals[0].Rank != 2 {
		t.Errorf("results of %+v, of %+v", got, m.Finals)
	}
	m.Digest = ""
	s = record.Summary{Peers: 3, Rounds: 30, Missing: []int{0, 1}, Steps: 30}
	if m.concludes(&s); s.Digest != "" || s.Missing != nil || s.Steps != 30 {
		t.Errorf("after it has left: %+v", s)
	}
}
