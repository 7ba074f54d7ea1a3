package worker

import (
	"errors"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/journal"
	"gossiptrainer/internal/machine"
	"gossiptrainer/node"
)

// growth returns by how many bytes a journal may grow between two checkpoints. The peers on the disk are taken to be
// alike. Checkpoints that are still to come do not count as free.
func (s *Store) growth(sizes budget.Worker, j *journal.Journal) int64 {
	free, known := machine.FreeBytes(s.dir)
	if !known {
		return sizes.Growth()
	}
	peers := max(1, s.Peers)
	missing := max(0, sizes.Kept-checkpoint.Count(s.dir))
	free += int64(peers) * (j.Size() - int64(missing)*sizes.State())
	return sizes.GrowthIn(max(0, free), peers)
}

// A room is what a store has set aside for a full disk.
type room struct {
	slack  *machine.Reserve // for the messages before a checkpoint; nil before keep
	second *machine.Reserve // for a second checkpoint, until there is one
}

// setAside sets room aside for the next checkpoint and the messages before it, and lets the node use it when the disk
// is full. That checkpoint makes older messages needless, and so makes room.
func (s *Store) setAside(sizes budget.Worker, kept *node.Checkpoints) {
	s.slack = machine.NewReserve(s.dir, sizes.Slack())
	reserve := func() error { return checkpoint.Reserve(s.dir, s.manifest(0), sizes.State()) }
	err := errors.Join(reserve(), s.slack.Take())
	if kept.Round == 0 {
		s.second = machine.NewReserve(s.dir, sizes.State())
		err = errors.Join(err, s.second.Take())
	}
	if err != nil {
		s.log.Warn("no room is set aside for a full disk: it is tried again without another warning", "why",
			s.explain(err, sizes.State()+sizes.Slack()))
	}
	kept.Relieve = s.slack.Release
	kept.Drop = func(newest int) error { return checkpoint.Prune(s.dir, newest, 1) }
	write := kept.Write
	kept.Write = func(k int) error {
		err := write(k)
		if err != nil {
			return err
		}
		if k > 0 {
			s.second.Release()
		}
		if machine.IsFull(reserve()) { // the next checkpoint needs the room of an old one
			err = kept.Drop(k)
			_ = reserve() // it may be a little larger
		}
		_ = s.slack.Take() // without room it is tried with the next checkpoint
		return err
	}
}

func (r *room) release() {
	r.slack.Release()
	r.second.Release()
}

// Finish frees the room that a worker has set aside. It is for a worker whose results are safe.
func (s *Store) Finish() { s.free(nil) }

// GiveUp also frees the room of the messages of a worker, and of its older checkpoints. It is for one that has done all
// rounds and lacks room for its results: no neighbour works any more.
func (s *Store) GiveUp(kept *node.Checkpoints) {
	if kept != nil {
		s.free(kept.Journal)
	}
}

func (s *Store) free(j *journal.Journal) {
	if s.slack == nil { // nothing is kept
		return
	}
	s.release()
	err := checkpoint.Unreserve(s.dir)
	if j != nil {
		err = errors.Join(err, j.Remove(), checkpoint.Slim(s.dir))
	}
	if err != nil {
		s.log.Warn("the journal is not needed any more, but cannot be removed: remove it by hand", "why", err)
	}
}

// explain says what a full disk lacks, if err comes from one.
func (s *Store) explain(err error, size int64) error {
	if !machine.IsFull(err) {
		return err
	}
	return &runfolder.SpaceError{Dir: s.dir, Key: "checkpoint.dir", What: "a checkpoint", Need: size, Err: err}
}
