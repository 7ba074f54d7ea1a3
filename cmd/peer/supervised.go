package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/checkpoints"
	"gossiptrainer/internal/app/peer"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/app/status"
	"gossiptrainer/internal/app/worker"
	"gossiptrainer/internal/lab"
	"gossiptrainer/internal/record"
	"gossiptrainer/node"
	"gossiptrainer/topology"
)

// runSupervised is a peer whose supervisor is "peer lab": it takes orders on
// standard input and reports on standard output. The run file is resolved, so
// neither environment nor flags count again.
func runSupervised(ctx context.Context, c *console, file *runFile, path string, rank int) error {
	from := checkpoints.Fresh
	if file.resume {
		from = checkpoints.Return
	}
	return supervised(ctx, c, rank, func(ctx context.Context, leash *lab.Leash) error {
		return superviseLife(ctx, c, leash, path, rank, from)
	})
}

// supervised leads the life of a process that a supervisor has started, up to
// the end of the work, and tells it of a failure.
func supervised(ctx context.Context, c *console, rank int, life func(context.Context, *lab.Leash) error) error {
	leash := lab.Attach(c.in, c.out.file)
	ctx, cancel := leash.Context(ctx)
	defer cancel()
	err := life(ctx, leash)
	if cause := context.Cause(ctx); errors.Is(cause, lab.ErrStopped) || errors.Is(cause, lab.ErrParentGone) {
		return &reportedError{cause}
	}
	if err == nil {
		return nil
	}
	said := describe(err)
	failure := lab.Failure{Reason: strings.TrimPrefix(said.text, "peer: "), Hint: said.hint, Code: exitCode(err)}
	if stop, ok := errors.AsType[*node.StoppedError](err); ok {
		failure.Echo = stop.Rank != topology.Rank(rank)
	}
	return &reportedError{errors.Join(err, leash.Fail(failure))}
}

// superviseLife is the life of a peer of a run file.
func superviseLife(ctx context.Context, c *console, leash *lab.Leash, path string, rank int, from checkpoints.Start) error {
	loaded, err := configs.Load(configs.Source{File: path})
	if err != nil {
		return err
	}
	run, err := assemble(loaded)
	if err != nil {
		return err
	}
	logger := c.logger(c.err)
	store := checkpoints.New(run, filepath.Dir(path), topology.Rank(rank), logger)
	defer store.Close()
	w, kept, err := store.Open(from)
	if err != nil {
		return err
	}
	o := nodeOptions(run)
	if kept != nil || run.Reweights() { // whoever comes back is known by its key
		if o.Identity, err = node.OpenIdentity(filepath.Join(store.Dir(), runfolder.Key)); err != nil {
			return err
		}
		defer o.Identity.Close()
	}
	o.Logger = logger
	o.Observe = func(e record.Event) {
		if rankOf(e) == rank { // the others report themselves
			_ = leash.Report(e) // fails only if the parent is gone, which ends ctx
		}
	}
	n, err := peer.Meet(ctx, leash, o)
	if err != nil {
		return err
	}
	defer n.Close()
	desk, err := status.Open(run.Config(), filepath.Dir(path), rank, n, c.err)
	if err != nil {
		return err
	}
	defer desk.Close()
	final, err := worker.Train(ctx, n, run, w, worker.Options{
		Results:     worker.Results{Dir: filepath.Dir(path), Saver: &runfolder.Saver{Log: logger, Stopped: ctx.Done()}},
		Observe:     o.Observe,
		Checkpoints: kept,
		Arbiter:     leash,
		Through:     func(other topology.Rank) bool { return leash.Through(int(other)) },
	})
	if err != nil {
		return err
	}
	if err := leash.Report(record.Event{Final: &final}); err != nil {
		return err
	}
	return leash.Done()
}

func rankOf(e record.Event) int {
	switch {
	case e.Step != nil:
		return e.Step.Rank
	case e.Score != nil:
		return e.Score.Rank
	case e.Status != nil:
		return e.Status.Rank
	case e.Final != nil:
		return e.Final.Rank
	case e.Edge != nil:
		return e.Edge.Rank
	}
	return anyRank
}
