package runfolder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"gossiptrainer/configs"
	"gossiptrainer/internal/record"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// now is a day after the newest run of folder.
var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// unseen and shown take the place of a progress.
func unseen(done, all int64) {}

func shown(_ string, do func(func(done, all int64)) error) error { return do(unseen) }

func put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// write makes the folder of a run.
func write(t *testing.T, dir string, bits int, s *record.Summary) {
	t.Helper()
	cfg := configs.Default()
	cfg.Algorithm.Bits, cfg.Topology.Size, cfg.Train.Rounds = bits, 2, 50
	put(t, filepath.Join(dir, RunFile), cfg.YAML())
	var events bytes.Buffer
	for round := 1; round <= 30; round++ {
		for rank := range 2 {
			step := &record.Step{Rank: rank, Round: round + rank, Loss: float64(rank), Bits: bits,
				Sent: record.Bytes{Wire: int64(1000 * rank)}}
			if err := record.Write(&events, record.Event{Step: step}); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(t, filepath.Join(dir, record.EventsFile), events.Bytes())
	if s != nil {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, record.SummaryFile), text)
	}
}

// summary is that of a finished run.
func summary(bits int, loss float64) *record.Summary {
	return &record.Summary{Algorithm: "moniqua", Bits: bits, Peers: 2, Rounds: 50, Time: 1.5, Loss: &loss,
		BytesPerPeer: record.Bytes{Wire: 5000}, Digest: fmt.Sprintf("%016d", bits)}
}

// folder has three finished runs, one that was stopped, one that goes on, and a file.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tulip-20261120-100000"), 8, summary(8, 0.5))
	write(t, filepath.Join(dir, "tulip-20261121-100000"), 4, summary(4, 0.25))
	write(t, filepath.Join(dir, "rose-20261122-100000"), 4, summary(4, 0.125))
	write(t, filepath.Join(dir, "stopped-20261119-100000"), 2, nil)
	running := filepath.Join(dir, "running-20261123-120000")
	write(t, running, 8, nil)
	lock, err := Lock(running)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Release() })
	put(t, filepath.Join(dir, "notes.txt"), nil)
	put(t, filepath.Join(dir, "other", "data.txt"), nil)
	return dir
}

func names(l *List) (all []string) {
	for _, r := range l.Runs {
		all = append(all, r.Name+" "+string(r.State))
	}
	return all
}

func TestRunsAreListedTheNewestFirst(t *testing.T) {
	dir := folder(t)
	l, err := RunsIn(dir, nil, unseen)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"running-20261123-120000 running", "rose-20261122-100000 finished",
		"tulip-20261121-100000 finished", "tulip-20261120-100000 finished", "stopped-20261119-100000 stopped"}
	if got := names(l); !slices.Equal(got, want) {
		t.Errorf("runs are %q, want %q", got, want)
	}
	r := l.Runs[2]
	if *r.Loss != 0.25 || r.Rounds != 50 || r.Bits != 4 || r.Workers != 2 || r.Sent != 5000 || r.Graph != "ring" {
		t.Errorf("a finished run is %+v", r)
	}
	r = l.Runs[4]
	if r.Loss != nil || *r.TrainLoss != 0.5 || r.Rounds != 30 || r.Of != 50 || r.Bits != 2 || r.Sent != 500 {
		t.Errorf("a stopped run is %+v", r)
	}
}

// A lost worker holds back neither the rounds of its run nor the mean of the loss.
func TestALostWorkerIsLeftOut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	write(t, dir, 8, nil)
	path := filepath.Join(dir, record.EventsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, append(text, `{"step":{"rank":7,"round":1,"loss":99}}
{"status":{"rank":7,"state":"lost"}}
`...))
	if l, err := RunsIn(dir, nil, unseen); err != nil || l.Runs[0].Rounds != 30 || *l.Runs[0].TrainLoss != 0.5 {
		t.Errorf("%+v, error %v, want round 30", l, err)
	}
}

// The end of a long record tells as much as the whole.
func TestTheEndOfALongRecordIsEnough(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	write(t, dir, 8, nil)
	path := filepath.Join(dir, record.EventsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	long := bytes.Repeat(text, 2*lastBytes/len(text)+1)
	put(t, path, append(append([]byte("damaged\n"), long...), `{"step":{"ra`...))
	l, err := RunsIn(dir, nil, unseen)
	if err != nil || len(l.Runs) != 1 || l.Runs[0].Rounds != 30 {
		t.Fatalf("%+v, error %v", l, err)
	}
	put(t, path, append(long, "damaged\n"...))
	l, err = RunsIn(dir, nil, unseen)
	if err != nil || l.Runs[0].State != Damaged || !strings.Contains(l.Runs[0].Error, "events.jsonl: near its end: line") {
		t.Errorf("%+v, error %v", l, err)
	}
}

// A damaged run is listed with the others, is named, and is removed only by its name.
func TestADamagedRunHidesNoOther(t *testing.T) {
	dir := folder(t)
	name := "rose-20261122-100000"
	damaged := filepath.Join(dir, name)
	put(t, filepath.Join(damaged, record.SummaryFile), []byte("{"))
	l, err := RunsIn(dir, nil, unseen)
	if err != nil || len(l.Runs) != 5 || l.Runs[1].State != Damaged {
		t.Fatalf("%+v, error %v", l, err)
	}
	var text bytes.Buffer
	if err := l.Write(&text, 0); err != nil || !strings.Contains(text.String(), "\n"+name+": record: ") {
		t.Errorf("error %v, and no reason in\n%s", err, &text)
	}
	if _, err := Compare(damaged, l.Runs[2].Dir); err == nil || !strings.Contains(err.Error(), record.SummaryFile) {
		t.Errorf("compared with error %v", err)
	}
	all := Prune{Show: shown, Keep: 0, Now: now}
	got, err := all.Do([]string{dir})
	if err != nil || len(got.Removed) != 2 || !slices.Contains(got.Spared, name) {
		t.Fatalf("%+v, error %v", got, err)
	}
	text.Reset()
	if err := got.Write(&text); err != nil || !strings.Contains(text.String(), "\n3 of them are not finished: ") {
		t.Errorf("error %v, text\n%s", err, &text)
	}
	got, err = Prune{Show: shown, Keep: -1, Now: now}.Do([]string{damaged})
	if err != nil || len(got.Removed) != 1 || len(got.Spared) != 0 {
		t.Errorf("%+v, error %v", got, err)
	}
}

func TestFilters(t *testing.T) {
	dir := folder(t)
	for _, test := range []struct {
		filters []string
		want    int
	}{
		{[]string{"algorithm.bits=4"}, 2},
		{[]string{"algorithm.bits=4.0", "topology.kind=ring"}, 2},
		{[]string{"algorithm.bits=4", "topology.kind=torus"}, 0},
		{[]string{"topology.size=2"}, 5},
	} {
		if l, err := RunsIn(dir, test.filters, unseen); err != nil || len(l.Runs) != test.want {
			t.Errorf("%q: error %v, %q, want %d", test.filters, err, names(l), test.want)
		}
	}
	for text, want := range map[string]string{
		"algorithm.bit=4": "did you mean algorithm.bits?",
		"bits":            "as in --filter algorithm.bits=8",
		"node.key=x":      "those of one machine do not count",
	} {
		_, err := RunsIn(dir, []string{text}, unseen)
		if hint := hintOf(err); !strings.Contains(hint, want) {
			t.Errorf("--filter %s: error %v, hint %q, want %q", text, err, hint, want)
		}
	}
}

func hintOf(err error) string {
	hinted, ok := errors.AsType[interface {
		error
		Hint() string
	}](err)
	if !ok {
		return ""
	}
	return hinted.Hint()
}

func TestFoldersWithoutRuns(t *testing.T) {
	if l, err := RunsIn(t.TempDir(), nil, unseen); err != nil || len(l.Runs) != 0 {
		t.Errorf("%+v, error %v", l, err)
	}
	_, err := RunsIn(filepath.Join(t.TempDir(), "none"), nil, unseen)
	if err == nil || !strings.Contains(err.Error(), "runs: there is no folder") {
		t.Errorf("error %v", err)
	}
	t.Setenv("PEER_OUTPUT__DIR", filepath.Join(t.TempDir(), "none"))
	l, err := RunsIn("", nil, unseen) // nothing has run yet
	if err != nil || len(l.Runs) != 0 {
		t.Errorf("%+v, error %v", l, err)
	}
	var text strings.Builder
	if err := l.Write(&text, 60); err != nil || !strings.HasPrefix(text.String(), "no runs in ") {
		t.Errorf("%q, error %v", text.String(), err)
	}
}

// A table fits the terminal and keeps every name whole. A pipe gets all columns. There are no escape codes.
func TestTheTableFits(t *testing.T) {
	l, err := RunsIn(folder(t), nil, unseen)
	if err != nil {
		t.Fatal(err)
	}
	for width, titles := range map[int]string{
		60:  "NAME STATE ROUNDS LOSS ACCURACY",
		100: "NAME BEGAN (UTC) STATE ALGORITHM ROUNDS LOSS ACCURACY",
		200: "NAME BEGAN (UTC) STATE ALGORITHM GRAPH WORKERS ROUNDS TRAIN LOSS LOSS ACCURACY SENT",
		0:   "NAME BEGAN (UTC) STATE ALGORITHM GRAPH WORKERS ROUNDS TRAIN LOSS LOSS ACCURACY SENT",
		10:  "NAME STATE",
	} {
		var text strings.Builder
		if err := l.Write(&text, width); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(text.String(), "\n")
		if got := strings.Join(strings.Fields(lines[0]), " "); got != titles {
			t.Errorf("%d columns: %q, want %q", width, got, titles)
		}
		for _, line := range lines {
			if width >= 60 && utf8.RuneCountInString(line) > width || strings.Contains(line, "\x1b") {
				t.Errorf("%d columns: %q", width, line)
			}
		}
		if !strings.Contains(text.String(), "\nstopped-20261119-100000 ") {
			t.Errorf("%d columns: a name is missing:\n%s", width, text.String())
		}
	}
}

func TestCompareNamesWhatDiffers(t *testing.T) {
	dir := folder(t)
	t.Setenv("PEER_OUTPUT__DIR", dir)
	c, err := Compare("tulip-20261120-100000", filepath.Join(dir, "tulip-20261121-100000"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []Difference{{"algorithm.bits", "8", "4"}}; !slices.Equal(c.Settings, want) {
		t.Errorf("settings %v, want %v", c.Settings, want)
	}
	want := []Difference{{"loss", "0.5", "0.25"}, {"digest", "0000000000000008", "0000000000000004"}}
	if !slices.Equal(c.Results, want) {
		t.Errorf("results %v, want %v", c.Results, want)
	}
	same, err := Compare(c.A.Dir, c.A.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := same.Write(&text); err != nil || !strings.Contains(text.String(), "no settings differ\nno results differ") {
		t.Errorf("error %v\n%s", err, text.String())
	}
	if stopped, err := Compare(c.A.Dir, "stopped-20261119-100000"); err != nil ||
		!slices.Contains(stopped.Results, Difference{"state", "finished", "stopped"}) ||
		!slices.Contains(stopped.Results, Difference{"digest", "0000000000000008", "-"}) {
		t.Errorf("%+v, error %v", stopped, err)
	}
	if _, err := Compare(c.A.Dir, "none"); err == nil || err.Error() != "runs: none is not the folder of a run" {
		t.Errorf("error %v", err)
	}
}

// left lists the runs that are there.
func left(t *testing.T, dir string) []Place {
	t.Helper()
	places, _, err := Below(dir)
	if err != nil {
		t.Fatal(err)
	}
	return places
}

func TestPruneRemovesOldFinishedRuns(t *testing.T) {
	for _, test := range []struct {
		keep  int
		older string
		want  int // removed, the oldest finished ones
	}{
		{0, "", 3}, {2, "", 1}, {9, "", 0}, {-1, "3d", 2}, {-1, "60h", 2}, {-1, "0.5d", 3}, {2, "1d", 1}, {0, "4d", 1},
	} {
		dir := folder(t)
		got, err := Prune{Show: shown, Keep: test.keep, Older: test.older, Now: now}.Do([]string{dir})
		if err != nil || len(got.Removed) != test.want || got.Kept != 5-test.want || len(got.Spared) != 2 {
			t.Errorf("--keep %d --older-than %s: %+v, error %v, want %d", test.keep, test.older, got, err, test.want)
			continue
		}
		var bytes int64
		for _, r := range got.Removed {
			if bytes += r.Bytes; r.State != Finished || r.Bytes == 0 {
				t.Errorf("removed %s, %s, %d bytes", r.Name, r.State, r.Bytes)
			}
		}
		if there := left(t, dir); len(there) != got.Kept || bytes != got.Bytes {
			t.Errorf("%q are left, %d bytes freed of %d", there, got.Bytes, bytes)
		}
		if _, err := os.Stat(filepath.Join(dir, "other", "data.txt")); err != nil {
			t.Error(err)
		}
	}
}

func TestPruneAsks(t *testing.T) {
	dir := folder(t)
	t.Setenv("PEER_OUTPUT__DIR", dir)
	var asked string
	var said strings.Builder
	p := Prune{Show: shown, Keep: 2, Now: now, Talk: &said, Ask: func(question string) (bool, error) {
		asked = question
		return false, nil
	}}
	got, err := p.Do(nil)
	if err != nil || len(got.Removed) != 0 || got.Kept != 5 || len(left(t, dir)) != 5 {
		t.Errorf("%+v, error %v", got, err)
	}
	if !strings.HasPrefix(asked, "remove 1 run and free ") ||
		!strings.Contains(said.String(), "tulip-20261120-100000  began 2026-11-20 10:00, finished, ") {
		t.Errorf("asked %q after %q", asked, said.String())
	}
	p.Ask = func(string) (bool, error) { return false, io.ErrUnexpectedEOF }
	if _, err := p.Do(nil); !errors.Is(err, io.ErrUnexpectedEOF) || len(left(t, dir)) != 5 {
		t.Errorf("error %v", err)
	}
	p.Keep = 5
	p.Ask = func(string) (bool, error) { t.Error("it asks about nothing"); return true, nil }
	if _, err := p.Do(nil); err != nil {
		t.Error(err)
	}
}

// A stopped run goes only by name, a running one never.
func TestPruneByName(t *testing.T) {
	dir := folder(t)
	t.Setenv("PEER_OUTPUT__DIR", dir)
	p := Prune{Show: shown, Keep: -1, Now: now}
	running := filepath.Join(dir, "running-20261123-120000")
	if _, err := p.Do([]string{running, "stopped-20261119-100000"}); err == nil ||
		!strings.Contains(err.Error(), "is running") || hintOf(err) != "stop it first: Ctrl-C" || len(left(t, dir)) != 5 {
		t.Errorf("error %v", err)
	}
	got, err := p.Do([]string{"stopped-20261119-100000"})
	if err != nil || len(got.Removed) != 1 || len(left(t, dir)) != 4 {
		t.Errorf("%+v, error %v", got, err)
	}
	if err := remove(running); err == nil { // it began after the question
		t.Error("a running run is removed")
	}
	if _, err := os.Stat(filepath.Join(running, record.EventsFile)); err != nil {
		t.Error(err)
	}
}

func TestWrongWordsOfPrune(t *testing.T) {
	dir := folder(t)
	cells := t.TempDir()
	write(t, filepath.Join(cells, "cells", "slow-1", "run"), 8, summary(8, 1))
	for _, test := range []struct {
		p          Prune
		args       []string
		want, hint string
	}{
		{Prune{Show: shown, Keep: -1}, []string{dir}, "say which runs", "--keep N"},
		{Prune{Show: shown, Keep: -1, Older: "soon"}, []string{dir}, `--older-than "soon" is no age`, "30d"},
		{Prune{Show: shown, Keep: -1, Older: "-1d"}, []string{dir}, `--older-than "-1d" is no age`, "30d"},
		{Prune{Show: shown, Keep: 1}, []string{filepath.Join(dir, "tulip-20261120-100000")}, "go without --keep", ""},
		{Prune{Show: shown, Keep: 1}, []string{cells}, "is a comparison", ""},
		{Prune{Show: shown, Keep: -1}, []string{filepath.Join(dir, "none")}, "is not the folder of a run", "peer runs"},
	} {
		_, err := test.p.Do(test.args)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(hintOf(err), test.hint) {
			t.Errorf("%+v %q: error %v, want %q", test.p, test.args, err, test.want)
		}
	}
	if len(left(t, dir)) != 5 || len(left(t, cells)) != 1 {
		t.Error("something is removed")
	}
}
