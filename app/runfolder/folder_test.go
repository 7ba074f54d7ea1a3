package runfolder

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/record"
)

func TestRunsOfOneSecondGetFoldersOfTheirOwn(t *testing.T) {
	cfg := configs.Default()
	cfg.Output.Dir = filepath.Join(t.TempDir(), "runs")
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.FixedZone("", 3600))
	var names []string
	for range 3 {
		f, err := Make(cfg, now)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		names = append(names, filepath.Base(f.Dir))
	}
	stem := cfg.Name + "-20260504-020201"
	if names[0] != stem || names[1] != stem+"-2" || names[2] != stem+"-3" {
		t.Errorf("got %q, want %s, -2 and -3: UTC", names, stem)
	}
}

func TestAFolderDoesNotHoldTheSecret(t *testing.T) {
	cfg := configs.Default()
	cfg.Output.Dir, cfg.Node.JoinSecret = t.TempDir(), "open sesame"
	f, err := Make(cfg, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	text, err := os.ReadFile(f.Path(RunFile))
	if err != nil || strings.Contains(string(text), "sesame") {
		t.Errorf("%v: the secret is in %s", err, text)
	}
}

// The run file of a folder repeats the run, also when the model that it started from is gone.
func TestAFolderKeepsTheModelToStartFrom(t *testing.T) {
	original := filepath.Join(t.TempDir(), "model.safetensors")
	if err := os.WriteFile(original, []byte("a model"), 0o666); err != nil {
		t.Fatal(err)
	}
	loaded, err := configs.Load(configs.Source{Set: []string{"train.from=" + original, "output.dir=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := Make(loaded.Config, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := os.Remove(original); err != nil {
		t.Fatal(err)
	}
	again, err := configs.Load(configs.Source{File: f.Path(RunFile)})
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Config.Train; got.From != f.Path(configs.StartFile) || got.FromHash != loaded.Config.Train.FromHash {
		t.Errorf("from %s with the hash %s", got.From, got.FromHash)
	}
	if f, err = Open(again.Config, f.Dir); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if text, err := os.ReadFile(f.Path(configs.StartFile)); err != nil || string(text) != "a model" {
		t.Errorf("a resumed run leaves %q, error %v", text, err)
	}
	if err := os.WriteFile(original, []byte("another"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(loaded.Config, time.Now()); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("a file that has changed meanwhile: error %v", err)
	}
}

// made makes the folder of a run.
func made(t *testing.T) (configs.Config, *Folder) {
	t.Helper()
	cfg := configs.Default()
	cfg.Output.Dir = t.TempDir()
	f, err := Make(cfg, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return cfg, f
}

func TestAFolderHoldsWhatTheRunLeaves(t *testing.T) {
	_, f := made(t)
	f.Add(record.Event{Step: &record.Step{Rank: 1, Round: 10, Loss: 0.5}})
	f.Add(record.Event{Final: &record.Final{Rank: 1, Rounds: 10}})
	if err := f.Finish(record.Summary{Run: "x", Digest: "d"}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	run, err := record.Open(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Events) != 2 || run.Events[0].Step.Loss != 0.5 || run.Summary == nil || run.Summary.Digest != "d" {
		t.Errorf("read back %+v, %+v", run.Events, run.Summary)
	}
	if _, err := configs.Load(configs.Source{File: f.Path(RunFile)}); err != nil {
		t.Error(err)
	}
}

func TestAFolderThatCannotBeMadeIsNamed(t *testing.T) {
	cfg := configs.Default()
	cfg.Output.Dir = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(cfg.Output.Dir, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(cfg, time.Now()); err == nil {
		t.Error("a run in a folder that is a file")
	}
}

func TestEventsWaitForADiskThatTakesNone(t *testing.T) {
	_, f := made(t)
	defer f.Close()
	step := func(round int) { f.Add(record.Event{Step: &record.Step{Round: round}}) }
	step(1)
	f.events.Close() // as a full disk, nothing is written
	step(2)
	if err := f.Finish(record.Summary{}); err == nil {
		t.Error("no error although an event is not on disk")
	}
	var err error
	if f.events, f.count, err = openEvents(f.Path(record.EventsFile)); err != nil {
		t.Fatal(err)
	}
	step(3)
	if err := f.Finish(record.Summary{}); err != nil {
		t.Error(err)
	}
	run, err := record.Open(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Events) != 3 {
		t.Fatalf("%d events on record, want 3", len(run.Events))
	}
	for i, e := range run.Events {
		if e.Step == nil || e.Step.Round != i+1 {
			t.Errorf("event %d: %+v, want the step of round %d", i, e, i+1)
		}
	}
}

// The room that a peer frees on a full disk is for the peer, not for the record.
func TestTheRecordLeavesRoomToThePeers(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("SKIPPED: no file here acts like a full disk: %v", err)
	}
	_, f := made(t)
	defer f.Close()
	events := f.events
	step := func(round int) error { return f.Add(record.Event{Step: &record.Step{Round: round}}) }
	written := func() int {
		text, err := os.ReadFile(f.Path(record.EventsFile))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte{'\n'})
	}
	f.Leave(math.MaxInt64 / 2)
	if err := step(1); err != nil || written() != 1 {
		t.Fatalf("error %v, %d events on a disk that was never full, want 1", err, written())
	}
	f.events = full
	if step(2) == nil {
		t.Error("no error says that the record is in memory")
	}
	f.events = events
	if err := step(3); err != nil || written() != 1 {
		t.Errorf("error %v, %d events: it takes the room of the peers", err, written())
	}
	f.Leave(0)
	if err := step(4); err != nil || written() != 4 {
		t.Errorf("error %v, %d events with room for all, want 4", err, written())
	}
	f.Leave(math.MaxInt64 / 2)
	f.events = full
	step(5)
	f.events = events
	if err := f.Finish(record.Summary{}); err != nil || written() != 5 {
		t.Errorf("error %v, %d events at the end, want 5", err, written())
	}
}

// A record that only loses its end is cut where it is, which needs no room on a full disk.
func TestARecordIsCutInPlace(t *testing.T) {
	_, f := made(t)
	defer f.Close()
	for round := range 6 {
		f.Add(record.Event{Step: &record.Step{Round: round}})
	}
	for _, test := range []struct {
		count int
		drop  int // round of an event that goes, too
		want  []int
		same  bool
	}{
		{5, -1, []int{0, 1, 2, 3, 4}, true},
		{3, 1, []int{0, 2, 3}, false},
		{3, -1, []int{0, 2, 3}, true},
	} {
		before, err := os.Stat(f.Path(record.EventsFile))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Rewind(test.count, func(e record.Event) bool { return e.Step.Round == test.drop }); err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(f.Path(record.EventsFile))
		if err != nil || os.SameFile(before, after) != test.same {
			t.Errorf("error %v, cut to %v in place: %v, want %v", err, test.want, !test.same, test.same)
		}
		run, err := record.Open(f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, e := range run.Events {
			got = append(got, e.Step.Round)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("the steps of rounds %v, want %v", got, test.want)
		}
	}
}

func TestEventsDoNotWaitForEver(t *testing.T) {
	_, f := made(t)
	f.events.Close()
	for range 3 {
		f.waiting.Grow(MostWaiting)
		f.waiting.Write(make([]byte, MostWaiting/2))
		f.Add(record.Event{Step: &record.Step{Round: 1}})
	}
	if f.err == nil || f.waiting.Len() > 2*MostWaiting {
		t.Errorf("error %v with %d bytes waiting", f.err, f.waiting.Len())
	}
}

func TestAFolderIsOfOneProcess(t *testing.T) {
	cfg, f := made(t)
	f.Add(record.Event{Step: &record.Step{Rank: 1, Round: 10}})
	changed := cfg
	changed.Train.Rounds++
	_, err := Open(changed, f.Dir)
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || !strings.Contains(err.Error(), f.Dir+": in use by another process (pid ") || locked.Hint() == "" {
		t.Errorf("error %v, want that the folder is in use", err)
	}
	if loaded, err := configs.Load(configs.Source{File: f.Path(RunFile)}); err != nil ||
		loaded.Config.Train.Rounds != cfg.Train.Rounds {
		t.Errorf("the run file of a folder in use is another one now (%v)", err)
	}
	if run, err := record.Open(f.Dir); err != nil || len(run.Events) != 1 {
		t.Errorf("a folder in use cannot be read: %v", err)
	}
	f.Close()
	if f, err = Open(changed, f.Dir); err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestAFolderInWhichNobodyTrainedGoes(t *testing.T) {
	cfg := configs.Default()
	cfg.Output.Dir = t.TempDir()
	for name, tt := range map[string]struct {
		own    int
		event  record.Event
		remain bool
	}{
		"nothing happened":          {everyRank, record.Event{Status: &record.Status{State: record.Joining}}, false},
		"a peer of the lab did":     {everyRank, record.Event{Step: &record.Step{Rank: 3, Round: 1}}, true},
		"this peer did":             {3, record.Event{Step: &record.Step{Rank: 3, Round: 1}}, true},
		"another peer of a LAN did": {2, record.Event{Step: &record.Step{Rank: 3, Round: 1}}, false},
	} {
		f, err := Make(cfg, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		f.own = tt.own
		f.Add(tt.event)
		f.Close()
		if err := f.Drop(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(f.Dir); (err == nil) != tt.remain {
			t.Errorf("%s: folder: %v, want that it remains: %v", name, err, tt.remain)
		}
	}
	f, err := Open(cfg, cfg.Output.Dir) // it was there
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := f.Drop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.Path(RunFile)); err != nil {
		t.Errorf("a folder that was there is gone: %v", err)
	}
}

func TestHalfALineIsRemovedFromARecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), record.EventsFile)
	for _, test := range []struct {
		before, after string
		count         int
	}{{"", "x\n", 0}, {"a\nb\n", "a\nb\nx\n", 2}, {"a\nb", "a\nx\n", 1}, {"half", "x\n", 0}} {
		if err := os.WriteFile(path, []byte(test.before), 0o666); err != nil {
			t.Fatal(err)
		}
		f, count, err := openEvents(path)
		if err != nil || count != test.count {
			t.Fatalf("%q has %d events, error %v, want %d", test.before, count, err, test.count)
		}
		if _, err := f.WriteString("x\n"); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if got, err := os.ReadFile(path); err != nil || string(got) != test.after {
			t.Errorf("%q became %q, error %v, want %q", test.before, got, err, test.after)
		}
	}
}
