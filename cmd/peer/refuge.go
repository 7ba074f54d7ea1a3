package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/app/machine"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/journal"
	"gossiptrainer/internal/lockfile"
	"gossiptrainer/internal/state"
	"gossiptrainer/node"
	"gossiptrainer/topology"
)

// A refuge is where the state of one worker is safe: its checkpoints, and what it
// has sent since, for neighbours that come back.
type refuge struct {
	dir  string
	run  *experiment.Run
	rank topology.Rank
	log  *slog.Logger
	lock *lockfile.Lock // nil before open, and where nothing is kept
}

// A beginning says where a worker begins.
type beginning int

const (
	afresh     beginning = iota // at round 0, in a refuge that must be empty
	continued                   // at its newest checkpoint
	comingBack                  // the same, or at round 0 if there is none
)

func refugeOf(run *experiment.Run, folder string, rank topology.Rank, log *slog.Logger) *refuge {
	return &refuge{dir: runfolder.RankFolder(run.Config(), folder, int(rank)), run: run, rank: rank, log: log}
}

// A usedError says that a run would begin where another one is kept.
type usedError struct {
	dir   string
	round int
}

func (e *usedError) Error() string {
	return fmt.Sprintf("%s: has a checkpoint of round %d", e.dir, e.round)
}
func (e *usedError) Hint() string {
	return "go on from it with --resume, name another checkpoint.dir, or remove the folder"
}

// open builds the worker and says how its state is kept, nil where it is not. Until
// close no other process can open the same state.
func (r *refuge) open(from beginning) (*experiment.Worker, *node.Checkpoints, error) {
	if reweights(r.run) && from != continued {
		w, err := r.run.Worker(r.rank) // the others go on: no checkpoint of its own is of any use
		return w, nil, err
	}
	if err := r.claim(from); err != nil {
		return nil, nil, err
	}
	found, err := r.find(from)
	if err != nil {
		return nil, nil, err
	}
	var begin *state.Snapshot
	round := 0
	if found != nil && found.Round > 0 {
		begin, round = found.State, found.Round
	}
	w, err := r.run.Resume(r.rank, begin)
	if err != nil {
		return nil, nil, err
	}
	c := r.run.Config().Checkpoint
	if found == nil && c.Every == 0 && c.Seconds == 0 {
		return w, nil, nil
	}
	kept, err := r.keep(w, round)
	return w, kept, err
}

// claim locks the folder of the checkpoints if it has some, or will have.
func (r *refuge) claim(from beginning) error {
	c := r.run.Config().Checkpoint
	_, there := checkpoint.Newest(r.dir)
	begins := from != continued && (c.Every > 0 || c.Seconds > 0)
	if r.lock != nil || !there && !begins {
		return nil
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return fmt.Errorf("checkpoint.dir: %w", err)
	}
	var err error
	r.lock, err = runfolder.Lock(r.dir)
	return err
}

// close lets other processes open the state.
func (r *refuge) close() {
	if r.lock != nil {
		_ = r.lock.Release()
	}
}

// find returns the checkpoint to begin at, nil for round 0.
func (r *refuge) find(from beginning) (*checkpoint.Found, error) {
	if from == afresh {
		if round, there := checkpoint.Newest(r.dir); there {
			return nil, &usedError{r.dir, round}
		}
		return nil, nil
	}
	found, err := checkpoint.Latest(r.dir)
	if from == comingBack && errors.Is(err, checkpoint.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, runfolder.HintNothing(r.run.Config(), r.hintRank(err))
	}
	for _, damaged := range found.Skipped {
		r.log.Warn("checkpoint skipped", "why", damaged)
	}
	return found, found.Check(r.manifest(0), r.legal)
}

// hintRank adds to an error that says that there is no checkpoint of this rank which
// ranks have one.
func (r *refuge) hintRank(err error) error {
	others := runfolder.RanksIn(filepath.Dir(r.dir))
	if !errors.Is(err, checkpoint.ErrNone) || len(others) == 0 {
		return err
	}
	return advice.With(err, fmt.Sprintf("this peer has rank %d, and the checkpoints there are of ranks %v: name the folder of this peer", r.rank, others))
}

// keep says how the state of w, which is at the beginning of round, is kept. At the
// beginning of round 0 a worker has no state but what the run file says.
func (r *refuge) keep(w *experiment.Worker, round int) (*node.Checkpoints, error) {
	c := r.run.Config().Checkpoint
	taken := new(state.Snapshot)
	write := func(k int) error {
		if k == 0 {
			return r.write(0, new(state.Snapshot))
		}
		return r.write(k, taken)
	}
	kept := &node.Checkpoints{
		Take: func(int) { w.Save(taken) }, Write: write,
		Round: round, Every: c.Every, Period: time.Duration(c.Seconds * float64(time.Second)), Keep: c.Keep,
	}
	m, ok := w.Machine.(interface{ Slots() gossip.Slots })
	if !ok {
		return kept, nil
	}
	var err error
	kept.Journal, err = journal.Open(filepath.Join(r.dir, "journal"), m.Slots(), m.Slots().Of(round, 0))
	return kept, err
}

// write makes a state the checkpoint before round k.
func (r *refuge) write(k int, s *state.Snapshot) error {
	err := checkpoint.Write(r.dir, r.manifest(k), s, r.run.Config().Checkpoint.Keep)
	if !machine.IsFull(err) {
		return err
	}
	space := &runfolder.SpaceError{Dir: r.dir, Key: "checkpoint.dir", What: "a checkpoint", Err: err}
	for _, t := range s.Tensors {
		space.Need += int64(len(t.Data))
	}
	return space
}

// manifest describes the state before round k. The name of the run is not among
// the settings.
func (r *refuge) manifest(k int) checkpoint.Manifest {
	cfg := r.run.Config()
	m := checkpoint.Manifest{Run: cfg.Name, Rank: int(r.rank), Round: k}
	for _, s := range namedApart(cfg) {
		m.Settings = append(m.Settings, checkpoint.Section{Name: s.Name, JSON: s.JSON})
	}
	return m
}

// namedApart returns the sections of a run without its name, which is compared by itself.
func namedApart(cfg configs.Config) []configs.Section {
	sections := cfg.Sections()
	for i, s := range sections {
		if s.Name == "run" {
			sections[i].Name, sections[i].JSON = "seed", []byte(strconv.FormatUint(cfg.Seed, 10))
		}
	}
	return sections
}

// legal says whether a run may go on although a setting has changed. More rounds
// are what people train on for. With step sizes that depend on their number, the
// rounds that some workers do once more would not be those that the others have seen.
func (r *refuge) legal(d checkpoint.Difference) bool {
	var then, now int
	if d.Key != "train.rounds" || r.run.Config().Train.Schedule != "constant" {
		return false
	}
	err := errors.Join(json.Unmarshal([]byte(d.Then), &then), json.Unmarshal([]byte(d.Now), &now))
	return err == nil && now > then
}
