package worker

import (
	"fmt"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/node"
)

// sizeOf returns the bytes of a worker's state.
func sizeOf(w *build.Worker, shown *state.Snapshot) int64 {
	w.Save(shown)
	return shown.Bytes()
}

// copies takes the checkpoints by way of a copy in memory, which it returns.
func (s *Store) copies(kept *node.Checkpoints, w *build.Worker) (taken *state.Snapshot) {
	taken = new(state.Snapshot)
	kept.Take = func(int) { w.Save(taken) }
	kept.Write = func(k int) error {
		written := taken
		if k == 0 {
			written = new(state.Snapshot)
		}
		err := checkpoint.Write(s.dir, s.manifest(k), written, s.run.Config().Checkpoint.Keep)
		return s.explain(err, written.Bytes())
	}
	return taken
}

// streams takes the checkpoints without a copy. shown shares the memory of the worker.
func (s *Store) streams(kept *node.Checkpoints, w *build.Worker, shown *state.Snapshot) {
	var draft *checkpoint.Draft
	var size int64
	failed := error(nil)
	kept.Direct = true
	kept.Take = func(k int) {
		size = sizeOf(w, shown)
		draft, failed = checkpoint.Begin(s.dir, s.manifest(k), shown)
	}
	kept.Write = func(k int) error {
		keep := s.run.Config().Checkpoint.Keep
		switch {
		case k == 0:
			return s.explain(checkpoint.Write(s.dir, s.manifest(0), new(state.Snapshot), keep), 0)
		case draft == nil:
			return s.explain(failed, size)
		}
		ready := draft
		draft, failed = nil, fmt.Errorf("checkpoint: round %d: its only draft could not be written", k)
		return s.explain(ready.Commit(keep), size)
	}
}
