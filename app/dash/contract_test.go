package dash

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/status"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/explain"
	"gossiptrainer/internal/record"
	"gossiptrainer/node"
)

// update writes the expected answers again. The page reads them too.
var update = flag.Bool("update", false, "write testdata")

// golden compares a value with the file of an expected answer.
func golden(t *testing.T, name string, value any) {
	t.Helper()
	var got bytes.Buffer
	if err := json.Indent(&got, jsonOf(value), "", " "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s: go test ./app/dash -update writes it, if the page agrees:\n%s", name, got.Bytes())
	}
}

// plain replaces the sentences of a view, whose texts are those of another package, by one that has all fields.
func plain(t *testing.T, v *View) *View {
	t.Helper()
	if v.Sentences == nil || len(*v.Sentences) == 0 {
		t.Error("nothing is explained")
	}
	worker := 2
	v.Sentences = &[]explain.Sentence{{Kind: explain.Straggler, Severity: explain.Warning, Text: "so it is",
		Worker: &worker, Edge: &[2]int{1, 2}, From: 10, To: 40}}
	return v
}

// read returns a track that has read its run to the end.
func read(t *testing.T, f *folder, ask func() []status.Answer) *track {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	track := newTrack(ctx, filepath.Base(f.dir), f.place(), ask)
	<-track.done
	return track
}

// tell writes a run of four workers, of which worker 2 dies once, into a folder.
func tell(f *folder) {
	for rank := range 4 {
		f.add(statusOf(rank, record.Training, ""))
	}
	for round := 10; round <= 40; round += 10 {
		f.add(roundOf(4, round)...)
	}
	f.add(record.Event{Score: &record.Score{Rank: record.Average, Round: 40, Loss: 0.75, Accuracy: 0.5}})
	f.add(record.Event{Links: &record.Links{Rank: 1, Round: 40, Time: 4 * time.Second, Rounds: 40,
		Spent:      record.Spent{Compute: 1200 * time.Millisecond, Wait: 2 * time.Second, Codec: 400 * time.Millisecond},
		Violations: 3, Repaired: 2, Uplink: 8e6,
		Links: []record.Link{{Peer: 0, Sent: record.Bytes{Wire: 20_000}},
			{Peer: 2, Last: 30, Sent: record.Bytes{Wire: 21_000}, Lost: 1}}}})
	f.add(statusOf(2, record.Returning, "its process ended: signal: killed"),
		statusOf(1, record.Waiting, "for the message of round 41", 2))
}

// answer1 is the answer of the process of worker 1, which waits for worker 2.
func answer1(folder string) status.Answer {
	loss := 0.125
	return status.Answer{Run: "tulip", Pid: 7, Folder: folder, Status: node.Status{
		Rank: 1, Peers: 4, Here: 4, Round: 41, Rounds: 100, Loss: &loss, State: record.Waiting, Waiting: []int{2},
		Violations: 3, Repaired: 2, Sent: record.Bytes{Wire: 42_000}, Refused: map[string]int64{"too late": 1},
		Links: []node.LinkStatus{
			{Neighbour: 0, Up: true, Sent: record.Bytes{Wire: 20_500}},
			{Neighbour: 2, Detail: "connection refused", Sent: record.Bytes{Wire: 21_000}, Lost: 1, Retries: 4},
		},
	}}
}

// The answers are those that the page was written for.
func TestTheContract(t *testing.T) {
	f := newFolder(t, t.TempDir(), tulip)
	tell(f)
	defer f.lock()()
	track := read(t, f, func() []status.Answer { return []status.Answer{answer1(f.dir)} })
	whole, stamp := track.view("")
	golden(t, "run.json", plain(t, whole))
	if again, _ := track.view(stamp); again != nil {
		t.Errorf("without news there is a message: %s", jsonOf(again))
	}
	track.tally.see(stepOf(3, 50))
	track.tell()
	news, _ := track.view(stamp)
	golden(t, "difference.json", news)
	golden(t, "worker.json", track.worker(3))
}

// A past run has a summary, and no process answers.
func TestTheContractOfAPastRun(t *testing.T) {
	f := newFolder(t, t.TempDir(), tulip)
	for round := 50; round <= 100; round += 50 {
		f.add(roundOf(4, round)...)
	}
	violations := int64(5)
	for rank := range 4 {
		f.add(record.Event{Final: &record.Final{Rank: rank, Rounds: 100, Loss: 0.5, Accuracy: 0.75, Digest: "00ff",
			Theta: record.Theta{Violations: &violations, Repaired: 4}}})
	}
	mean := 0.75
	text, err := json.Marshal(record.Summary{Mode: "sim", Run: "tulip", Peers: 4, Rounds: 100,
		Accuracy: record.Accuracy{Mean: &mean}})
	if err != nil {
		t.Fatal(err)
	}
	f.write(record.SummaryFile, string(text))
	whole, _ := read(t, f, noProcess).view("")
	golden(t, "past.json", plain(t, whole))
}

// libraryOf opens the library of a folder, whose runs no process answers for.
func libraryOf(t *testing.T, dir string) *server {
	t.Helper()
	lib, err := openLibrary(t.Context(), dir, noProcess)
	if err != nil {
		t.Fatal(err)
	}
	return &server{lib: lib, version: "v1.0.0", again: "peer dash " + filepath.Base(dir), ended: make(chan struct{}),
		streams: make(chan struct{}, mostStreams)}
}

func TestTheContractOfRuns(t *testing.T) {
	dir := t.TempDir()
	f := newFolder(t, dir, tulip)
	f.add(roundOf(4, 10)...)
	newFolder(t, dir, "tulip-20261120-090000")
	s := libraryOf(t, dir)
	s.lib.folder = dir
	state := s.state(time.Now())
	state.Folder, state.Again = "runs", "peer dash runs"
	golden(t, "state.json", state)
	one := libraryOf(t, f.dir).state(time.Now())
	if one.Kind != "run" || one.Main == nil || *one.Main != tulip || len(one.Runs) != 2 {
		t.Errorf("of one run: %s", jsonOf(one))
	}
	empty := libraryOf(t, t.TempDir()).state(time.Now())
	if empty.Kind != "several" || empty.Main != nil || len(empty.Runs) != 0 {
		t.Errorf("of an empty folder: %s", jsonOf(empty))
	}
}

func TestTheContractOfAComparison(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, cells.CellsFolder)
	done := newFolder(t, filepath.Join(folder, "d-psgd.fast.1"), "run")
	done.add(roundOf(4, 100)...)
	going := newFolder(t, filepath.Join(folder, "moniqua-8b.fast.1"), tulip)
	going.add(roundOf(4, 30)...)
	defer going.lock()()
	loss, mean := 0.5, 0.75
	text, err := json.Marshal(cells.Comparison{
		Name: "tulips", Mode: "sim", Targets: record.Targets{Loss: 0.4},
		Labels: []string{"D-PSGD", "Moniqua 8b"}, Seeds: []uint64{1, 2},
		Fewer: map[string]int{"Moniqua 8b": 1}, Networks: []cells.Network{{Name: "fast", Rate: 1e9}},
		Cells: []cells.Cell{
			{Label: "D-PSGD", Network: "fast", Seed: 1, Status: cells.Done,
				Folder:  filepath.Join(cells.CellsFolder, "d-psgd.fast.1", "run"),
				ToLoss:  &record.Reached{Time: 2.5, Seen: 2.5}, // in the first record that can tell
				Summary: &record.Summary{Rounds: 100, Time: 10, Loss: &loss, Accuracy: record.Accuracy{Mean: &mean}}},
			{Label: "D-PSGD", Network: "fast", Seed: 2, Status: cells.Diverged, Error: "the loss is not finite"},
		}})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, cells.ComparisonFile), text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	state := libraryOf(t, dir).state(time.Now())
	if state.Kind != kinds[runfolder.Cells] || state.Main == nil || *state.Main != "moniqua-8b.fast.1" {
		t.Errorf("kind %s, first %v", state.Kind, state.Main)
	}
	golden(t, "comparison.json", state.Comparison)
}
