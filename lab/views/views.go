// Package views computes runs whose members come and go, in one process: from a log of views, or with joins, leaves and
// deaths that it draws.
package views

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/gossip/retrace"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/membership"
	"gossiptrainer/internal/record"
)

// A Result is the outcome of a run with views.
type Result struct {
	Views   []record.Membership `json:"views"`
	Members int                 `json:"members"` // at the end
	Rounds  int                 `json:"rounds"`
	Digest  string              `json:"digest"` // of the models of the members at the end
	Log     string              `json:"log"`    // the file
}

// founders returns view 0 of a run.
func founders(run *experiment.Run) view.Record {
	var r view.Record
	for i := range run.N() {
		r.Members = append(r.Members, view.Member{ID: view.ID(i), Name: fmt.Sprint("peer ", i)})
	}
	return r
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
		file = runfolder.ViewsPath(file)
	}
	m, err := membership.NewMaker(run)
	if err != nil {
		return nil, err
	}
	if run.Method().Asynchronous() {
		return nil, configs.Errorf("algorithm.name", "%s: no log of views replays it: its pairs meet at times that no log "+
			"has: run the same command again", run.Config().Algorithm.Name)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("views: %w", err)
	}
	log, err := view.Read(bytes.NewReader(text), m.Base())
	if err != nil {
		return nil, fmt.Errorf("views: %s: %w", file, err)
	}
	if n := len(log.At(0).Members); n != run.N() {
		return nil, fmt.Errorf("views: %s: view 0 has %s, the run file %d: take the run file of the same run", file,
			human.Count(n, "member"), run.N())
	}
	if err := membership.Lacking(run, log); err != nil {
		return nil, err
	}
	o, err := replay(m, log)
	if err != nil {
		return nil, err
	}
	r, digest := &Result{Views: membership.Told(log), Members: len(o.IDs), Rounds: rounds(m, log), Log: file}, o.Digest()
	r.Digest = hex.EncodeToString(digest[:])
	return r, nil
}

// replay computes the run of a log.
func replay(m *membership.Maker, log *view.Log) (*Outcome, error) {
	w := &watch{rounds: rounds(m, log), finished: map[view.ID]bool{}}
	if err := retrace.Run(log, m, m.Plan(), w); err != nil {
		return nil, err
	}
	o := newOutcome(m, log, func(id view.ID) bool { return w.finished[id] })
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
	_, err := fmt.Fprintf(w, "%s, %s at the end, digest %s\nthe log of views: %s\n", human.Count(r.Rounds, "round"),
		human.Count(r.Members, "member"), r.Digest, r.Log)
	return err
}
