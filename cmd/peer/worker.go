package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/machine"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/train"
	"gossiptrainer/internal/work"
	"gossiptrainer/node"
	"gossiptrainer/topology"
)

// An outlet is where a worker's results go: its model into a folder, the scores of
// its replica to whoever observes. The arbiter, if any, may end its run early, and
// through, if any, knows who has ended well and is gone.
type outlet struct {
	dir     string
	observe func(record.Event)
	arbiter node.Arbiter
	through func(topology.Rank) bool
	saver   *runfolder.Saver
}

// trainOn runs worker w on a node that has joined, tests its replica, and saves
// it. kept says how its state is, nil if it is not. In a run that has gone on
// without w it asks for a place, and goes on from there.
func trainOn(ctx context.Context, n *node.Node, run *experiment.Run, w *experiment.Worker, kept *node.Checkpoints, to outlet) (record.Final, error) {
	final, err := n.Run(ctx, driven(ctx, run, w, to, node.Worker{Checkpoints: kept}))
	if errors.Is(err, node.ErrLeftBehind) {
		var place *node.Guest
		if w, place, err = comeBack(ctx, n, run, w.Rank, to.arbiter); err != nil {
			return final, err
		}
		final, err = n.Run(ctx, driven(ctx, run, w, to, node.Worker{Guest: place}))
	}
	if err != nil {
		return final, err
	}
	testing := record.Status{State: record.Testing}
	n.Say(testing)
	watch := eachSecond(func(share float64) {
		testing.Share = share
		n.Say(testing)
	})
	return final, conclude(&final, run, w, to, watch)
}

// driven fills in how a node runs w, besides where it begins.
func driven(ctx context.Context, run *experiment.Run, w *experiment.Worker, to outlet, d node.Worker) node.Worker {
	cfg := run.Config()
	d.Task = w.Task
	d.Gradient = scored(run, w, slowed(ctx, w.Gradient, run.Slowdown(w.Rank)), to.observe)
	d.Arbiter, d.Through = to.arbiter, to.through
	d.Lost, d.Tolerance = lostPolicy(cfg), cfg.Faults.Tolerance
	return d
}

// comeBack builds a worker that was lost, for the place that it gets in the run that
// goes on.
func comeBack(ctx context.Context, n *node.Node, run *experiment.Run, rank topology.Rank, a node.Arbiter) (*experiment.Worker, *node.Guest, error) {
	closing := run.Closing(rank)
	if run.Asynchronous() { // a place begins with a round
		closing = nil
	}
	place, s, err := n.ComeBack(ctx, closing, a)
	if err != nil {
		return nil, nil, err
	}
	w, err := run.Join(rank, place.Sponsor, s)
	return w, &place, err
}

// slowed makes a gradient take factor times as long as it must, by waiting.
func slowed(ctx context.Context, gradient work.Gradient, factor float64) work.Gradient {
	if factor <= 1 {
		return gradient
	}
	return func(g []float32, k int, x []float32) (float32, error) {
		began := time.Now()
		loss, err := gradient(g, k, x)
		select {
		case <-time.After(time.Duration(float64(time.Since(began)) * (factor - 1))):
		case <-ctx.Done():
		}
		return loss, err
	}
}

// reweights reports whether a run goes on without peers that are lost.
func reweights(run *experiment.Run) bool { return lostPolicy(run.Config()) == node.Reweight }

func lostPolicy(cfg configs.Config) node.LostPolicy {
	switch cfg.Faults.OnLostNeighbor {
	case "stop":
		return node.Fail
	case "reweight":
		return node.Reweight
	}
	return node.Wait
}

// conclude completes a result with the score of the replica, and saves it. It tells watch how
// far the score is.
func conclude(
	final *record.Final, run *experiment.Run, w *experiment.Worker, to outlet, watch func(done, all int),
) error {
	x := w.Machine.Params()
	score, err := w.Evaluate(x, watch)
	if err != nil {
		return err
	}
	if record.Number(score.Loss) == nil {
		return run.Diverged(fmt.Errorf("worker %d: after round %d: test loss is %g: %w",
			final.Rank, final.Rounds, score.Loss, train.ErrDiverged))
	}
	if final.Data, err = run.Rows(w.Rank); err != nil {
		return err
	}
	final.Theta, final.Bits = w.Bound(final.Rounds), w.MeanBits()
	final.Loss, final.Accuracy, final.Peak = score.Loss, score.Accuracy, machine.PeakMemory()
	model := train.Saved{X: x, Layout: run.Layout(), Metadata: map[string]string{
		"run": run.Config().Name, "rank": strconv.Itoa(final.Rank), "rounds": strconv.Itoa(final.Rounds),
	}}
	const float = 4 // bytes
	space := runfolder.SpaceError{Dir: to.dir, Key: "output.dir", What: "a final model", Need: float * int64(len(x))}
	return to.saver.Save(space, func() error { return train.Write(runfolder.ModelPath(to.dir, final.Rank), model) })
}

// readModels reads the final models of a run's peers that came to the end, by rank.
func readModels(f *runfolder.Folder, peers int, finals []record.Final) ([][]float32, error) {
	models := make([][]float32, peers)
	for _, final := range finals {
		saved, err := train.Read(f.ModelPath(final.Rank))
		if err != nil {
			return nil, err
		}
		models[final.Rank] = saved.X
	}
	return models, nil
}
