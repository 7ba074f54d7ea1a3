package record

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func sample() []Event {
	var events []Event
	for round := 10; round <= 50; round += 10 {
		for rank := range 3 {
			events = append(events, Event{Step: &Step{
				Rank: rank, Round: round, Time: time.Duration(round) * time.Millisecond,
				Loss: 2.3 / float64(round+rank), Gap: 0.01 * float64(round), Theta: 1.5,
				Sent: Bytes{Payload: int64(round) * 100},
			}})
		}
	}
	return append(events,
		Event{Status: &Status{Rank: 1, State: Waiting, Missing: []int{2}, Detail: "worker 2 was never seen"}},
		Event{Final: &Final{Rank: 0, Rounds: 50, Loss: 0.1, Accuracy: 0.97, Digest: "ab"}},
	)
}

func record(t *testing.T, events []Event) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	for _, e := range events {
		if err := Write(&b, e); err != nil {
			t.Fatal(err)
		}
	}
	return &b
}

func TestRecordReadsBackWhatWasWritten(t *testing.T) {
	want := sample()
	got, err := Read(record(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecordDropsATornLastLine(t *testing.T) {
	want := sample()
	b := record(t, want)
	b.WriteString(`{"step":{"rank":2,"rou`)
	got, err := Read(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Errorf("%d events, want %d", len(got), len(want))
	}
}

func TestRecordNamesABadLine(t *testing.T) {
	for name, text := range map[string]string{
		"garbage":       "{}\nnot json\n{}\n",
		"line too long": "{}\n\"" + strings.Repeat("x", maxLine+1<<17) + "\"\n",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAccuracyWithoutMeaningIsNull(t *testing.T) {
	text, err := json.Marshal(Final{Rank: 3, Accuracy: math.NaN()})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"accuracy":null`) {
		t.Errorf("%s", text)
	}
	var back Final
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back.Rank != 3 || !math.IsNaN(back.Accuracy) {
		t.Errorf("%+v", back)
	}
}

func TestOpenReadsARunFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "not a run folder") {
		t.Errorf("empty folder: %v", err)
	}
	write(t, filepath.Join(dir, EventsFile), record(t, sample()).Bytes())
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if run.Summary != nil || len(run.Events) != len(sample()) {
		t.Errorf("%d events, summary %v", len(run.Events), run.Summary)
	}
	write(t, filepath.Join(dir, SummaryFile), []byte(`{"run":"ring8","peers":8}`))
	if run, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	if run.Summary.Run != "ring8" || run.Summary.Peers != 8 {
		t.Errorf("%+v", run.Summary)
	}
}

func TestBitsPerParameter(t *testing.T) {
	m := Messages{Count: 4, Stream: 1000}
	if got := m.Bits(500); got != 4 {
		t.Errorf("%v bits a parameter, want 4", got)
	}
	m.Still = 4 * 4 * 250 // half of the parameters of each message
	if got := m.Bits(500); got != 8 {
		t.Errorf("%v bits a parameter that travels, want 8", got)
	}
	if got := (Messages{}).Bits(500); got != 0 {
		t.Errorf("%v bits a parameter of no messages", got)
	}
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
