package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/report"
)

// A spaceError says that a disk has no room for what a run writes.
type spaceError struct {
	dir  string
	key  string // of the run file, that names the folder
	what string // has no room
	need int64  // bytes
	err  error  // nil if nothing was tried yet
}

// short reports whether there is less room than needed.
func (e *spaceError) short() bool {
	free, known := freeBytes(nearestFolder(e.dir))
	return known && free < e.need
}

func (e *spaceError) Error() string {
	free := "the disk is full"
	if bytes, known := freeBytes(nearestFolder(e.dir)); known {
		free = report.Size(bytes) + " are free"
	}
	return fmt.Sprintf("%s: %s: no room for %s: %s are needed, and %s", e.key, e.dir, e.what, report.Size(e.need), free)
}
func (e *spaceError) Unwrap() error { return e.err }
func (e *spaceError) Hint() string {
	return "make room, or set " + e.key + " to a folder on a disk with more"
}

// nearestFolder returns dir, or the first folder above it that exists.
func nearestFolder(dir string) string {
	for {
		_, err := os.Stat(dir)
		above := filepath.Dir(dir)
		if err == nil || above == dir {
			return dir
		}
		dir = above
	}
}

// recordBytes is the length of a line of the record, on the safe side.
const recordBytes = 600

// checkRoom compares the free space with what the command is going to write. Without room
// for the final models and one checkpoint of each peer the run is refused. The warning says that
// all checkpoints and the record together may not fit.
func checkRoom(run *experiment.Run, mode string) (warning string, err error) {
	cfg := run.Config()
	peers := int64(run.N())
	if mode == "run" {
		peers = 1
	}
	const float = 4 // bytes
	models := float * int64(run.Dim()) * peers
	state := leastState(run, mode) * peers
	record := recordBytes * peers * int64(cfg.Train.Rounds/max(1, cfg.Output.Every))
	out := &spaceError{dir: cfg.Output.Dir, key: "output.dir", what: "the final models", need: models}
	safe := &spaceError{dir: cfg.Checkpoint.Dir, key: "checkpoint.dir", what: "the checkpoints", need: state}
	if cfg.Checkpoint.Dir == "" && state > 0 {
		out.what, out.need = "the final models and a checkpoint of each peer", models+state
		safe = out
	}
	if out.short() {
		return "", out
	}
	if state > 0 && safe.short() {
		return "", safe
	}
	all := &spaceError{dir: safe.dir, key: "checkpoint.keep"}
	all.what = "all checkpoints that are kept, the final models and the record"
	all.need = models + record + int64(cfg.Checkpoint.Keep+1)*state // one more while it is written
	if state > 0 && all.short() {
		return all.Error(), nil
	}
	return "", nil
}

// leastState returns how many bytes the state of a worker has at least: a model, and its
// momentum; 0 where no checkpoints are taken.
func leastState(run *experiment.Run, mode string) int64 {
	cfg := run.Config()
	if mode == "sim" || reweights(run) || cfg.Checkpoint.Every == 0 && cfg.Checkpoint.Seconds == 0 {
		return 0
	}
	if cfg.Checkpoint.Dir != "" && len(ranksIn(cfg.Checkpoint.Dir)) > 0 {
		return 0 // a run that goes on replaces them
	}
	const float = 4 // bytes
	vectors := int64(1)
	if cfg.Train.Momentum > 0 {
		vectors = 2
	}
	return float * vectors * int64(run.Dim())
}

// A saver writes the results of a run. While their disk is full it keeps them in memory, says so
// once, and tries again until there is room or the command is stopped.
type saver struct {
	log     *slog.Logger
	stopped <-chan struct{}
	once    sync.Once
}

// retryRoom is how long a saver waits for room before it tries again.
const retryRoom = time.Second

// save writes what a spaceError describes.
func (s *saver) save(result spaceError, write func() error) error {
	for {
		result.err = write()
		if !isFull(result.err) {
			return result.err
		}
		s.once.Do(func() {
			s.log.Error("no room: results stay in memory until there is some; Ctrl-C gives them up", "why", result.Error())
		})
		select {
		case <-time.After(retryRoom):
		case <-s.stopped:
			return &result
		}
	}
}
