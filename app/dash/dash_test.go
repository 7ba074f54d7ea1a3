package dash

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/status"
	"gossiptrainer/internal/record"
)

// A folder is a run folder under test, whose record grows.
type folder struct {
	t   *testing.T
	dir string
}

// ring4 is the run file of the tests.
const ring4 = `name: tulip
topology: {kind: ring, size: 4}
algorithm: {name: dpsgd, codec: moniqua, bits: 8}
data: {name: glyphs}
model: {name: mlp, hidden: [8]}
train: {rounds: 100}
limit: {rate: 8mbit}
output: {every: 10}
`

// began is in the names of the folders, so that a run has a time.
const tulip = "tulip-20261121-100500"

func newFolder(t *testing.T, parent, name string) *folder {
	t.Helper()
	f := &folder{t, filepath.Join(parent, name)}
	if err := os.MkdirAll(f.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	f.write(runfolder.RunFile, ring4)
	f.write(record.EventsFile, "")
	return f
}

func (f *folder) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o666); err != nil {
		f.t.Fatal(err)
	}
}

// append adds text to the record.
func (f *folder) append(text string) {
	f.t.Helper()
	out, err := os.OpenFile(filepath.Join(f.dir, record.EventsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = io.WriteString(out, text)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	out.Close()
}

// add adds events to the record.
func (f *folder) add(events ...record.Event) {
	f.t.Helper()
	for _, e := range events {
		text, err := json.Marshal(e)
		if err != nil {
			f.t.Fatal(err)
		}
		f.append(string(text) + "\n")
	}
}

// lock lets the run seem to go on until the function that it returns is called.
func (f *folder) lock() (release func()) {
	f.t.Helper()
	l, err := runfolder.Lock(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	return func() { l.Release() }
}

func (f *folder) place() runfolder.Place {
	return runfolder.Place{Name: filepath.Base(f.dir), Dir: f.dir}
}

// noProcess gives the answers where no process runs.
func noProcess() []status.Answer { return nil }

// stepOf is a step of a made-up run: the loss falls, and the larger the rank, the larger it is.
func stepOf(rank, round int) record.Event {
	k := int64(round)
	return record.Event{Step: &record.Step{
		Rank: rank, Round: round, Time: time.Duration(round)*100*time.Millisecond + time.Duration(rank)*time.Millisecond,
		Loss: 2/float64(round) + float64(rank)/8, Gap: 0.5 / float64(round), Theta: 1 / float64(round), Bits: 8,
		Compute: 30 * time.Millisecond, Wait: 50 * time.Millisecond, Codec: 10 * time.Millisecond,
		Sent: record.Bytes{Payload: 900 * k, Stream: 950 * k, Wire: 1000 * k}, Received: record.Bytes{Wire: 1000 * k},
	}}
}

// roundOf is the steps of all workers.
func roundOf(workers, round int) (all []record.Event) {
	for rank := range workers {
		all = append(all, stepOf(rank, round))
	}
	return all
}

func statusOf(rank int, state record.State, detail string, missing ...int) record.Event {
	return record.Event{Status: &record.Status{Rank: rank, State: state, Detail: detail, Missing: missing}}
}
