// Package views computes runs whose members come and go, in one process: from a log of views, or with joins, leaves and
// deaths that it draws.
package views

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"gossiptrainer/app/membership"
	"io"
	"os"
	"path/filepath"

	"gossiptrainer/configs"
	"gossiptrainer/gossip/retrace"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/atomicfile"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/plural"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// logName is the name of the log of views in a run folder.
const logName = "views.jsonl"

// A Result is the outcome of a run with views.
type Result struct {
	Views   []record.Membership `json:"views"`
	Members int                 `json:"members"` // at the end
	Rounds  int                 `json:"rounds"`
	Digest  string              `json:"digest"` // of the models of the members at the end
	Log     string              `json:"log"`    // the file
}

// members makes the workers of a run. It is a retrace.Maker.
type members struct {
	run    *experiment.Run
	runs   map[int]*experiment.Run // by number of workers
	shards map[int][]data.Set      // by number of workers
	latest map[view.ID]*experiment.Member
}

func newMembers(run *experiment.Run) (*members, error) {
	if cfg := run.Config(); !cfg.Views() {
		return nil, configs.Errorf("membership.mode", "fixed: members do not come and go: set it to view")
	}
	return &members{run: run, runs: map[int]*experiment.Run{run.N(): run}, shards: map[int][]data.Set{},
		latest: map[view.ID]*experiment.Member{}}, nil
}

// plan returns the plan of the run.
func (m *members) plan() retrace.Plan {
	cfg := m.run.Config()
	return retrace.Plan{Rounds: int(cfg.Train.Rounds), Every: cfg.Algorithm.LocalSteps,
		Together: experiment.Gathering(m.run)}
}

// base returns the graph of the run without a size.
func (m *members) base() topology.Spec { return m.run.Graph().Spec() }

// founders returns view 0.
func (m *members) founders() view.Record {
	var r view.Record
	for i := range m.run.N() {
		r.Members = append(r.Members, view.Member{ID: view.ID(i), Name: fmt.Sprint("peer ", i)})
	}
	return r
}

// Enter makes a member. Its shard is that of a run with as many workers as the view has members.
func (m *members) Enter(p retrace.Place) (retrace.Member, error) {
	n := len(p.Log.At(p.View).Members)
	run, err := m.resized(n)
	if err != nil {
		return nil, err
	}
	e := experiment.Entry{ID: p.ID, Seat: p.Seat, Workers: p.Workers, Rows: p.Rows, Rounds: p.Rounds,
		Entrance: p.Entrance}
	if run.Data() != nil {
		if m.shards[n] == nil {
			if m.shards[n], err = run.Data().Shards(n); err != nil {
				return nil, err
			}
		}
		e.Shard = m.shards[n][p.Rank]
	}
	made, err := experiment.Enter(run, e)
	m.latest[p.ID] = made
	return made, err
}

// resized returns the run of n workers.
func (m *members) resized(n int) (*experiment.Run, error) {
	if m.runs[n] == nil {
		var err error
		if m.runs[n], err = experiment.Resized(m.run, n); err != nil {
			return nil, err
		}
	}
	return m.runs[n], nil
}

// A watch notes the members that do all rounds.
type watch struct {
	retrace.Unwatched
	rounds   int
	finished map[view.ID]bool
}

// Boundary notes a member after the last round.
func (w *watch) Boundary(k int, id view.ID, _ []float32) {
	if k == w.rounds {
		w.finished[id] = true
	}
}

// Replay computes the run of a log, which is a file or in a run folder.
func Replay(run *experiment.Run, file string) (*Result, error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, logName)
	}
	m, err := newMembers(run)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("views: %w", err)
	}
	log, err := view.Read(bytes.NewReader(text), m.base())
	if err != nil {
		return nil, fmt.Errorf("views: %s: %w", file, err)
	}
	if n := len(log.At(0).Members); n != run.N() {
		return nil, fmt.Errorf("views: %s: view 0 has %s, the run file %d: take the run file of the same run", file,
			plural.Of(n, "member"), run.N())
	}
	o, err := m.replay(log)
	if err != nil {
		return nil, err
	}
	r, digest := &Result{Views: membership.Told(log), Members: len(o.IDs), Rounds: m.plan().Rounds, Log: file}, o.Digest()
	r.Digest = hex.EncodeToString(digest[:])
	return r, nil
}

// replay computes the run of a log.
func (m *members) replay(log *view.Log) (*Outcome, error) {
	w := &watch{rounds: m.plan().Rounds, finished: map[view.ID]bool{}}
	if err := retrace.Run(log, m, m.plan(), w); err != nil {
		return nil, err
	}
	o := m.outcome(log, func(id view.ID) bool { return w.finished[id] })
	if len(o.IDs) == 0 {
		return nil, errors.New("views: no member is there at the end of the run")
	}
	return o, nil
}

// Write writes the result for people.
func (r *Result) Write(w io.Writer) error {
	if err := Write(w, r.Views); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s, %s at the end, digest %s\nthe log of views: %s\n", plural.Of(r.Rounds, "round"),
		plural.Of(r.Members, "member"), r.Digest, r.Log)
	return err
}

// save writes a log to a file.
func save(log *view.Log, file string) error {
	var text []byte
	for v := range log.Len() {
		var err error
		if text, err = view.Append(text, *log.At(v)); err != nil {
			return fmt.Errorf("views: %w", err)
		}
	}
	return atomicfile.Write(file, text, 0o644)
}
