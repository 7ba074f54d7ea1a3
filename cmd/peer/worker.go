package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/experiment"
	"gossiptrainer/node"
	"gossiptrainer/report"
	"gossiptrainer/train"
)

// An outlet is where a worker's results go: its model into a folder, the scores of
// its replica to whoever observes.
type outlet struct {
	dir     string
	observe func(report.Event)
	guest   *node.Guest // where a worker begins that has been taken back; nil for others
}

// trainOn runs worker w on a node that has joined, tests its replica, and saves
// it. kept says how its state is, nil if it is not.
func trainOn(ctx context.Context, n *node.Node, run *experiment.Run, w *experiment.Worker, kept *node.Checkpoints, to outlet) (report.Final, error) {
	cfg := run.Config()
	compute := scored(run, w, slowed(ctx, w.Gradient, run.Slowdown(w.Rank)), to.observe)
	final, err := n.Run(ctx, node.Worker{
		Rank: w.Rank, Row: w.Row, Closing: w.Closing, Save: w.Save, Guest: to.guest, Machine: w.Machine, Gradient: compute, Theta: w.Theta, Bits: w.Bits,
		Rounds: cfg.Train.Rounds, MaxPayload: w.MaxPayload, Every: cfg.Output.Every, Lost: lostPolicy(cfg), Tolerance: cfg.Faults.Tolerance,
		Asynchronous: run.Asynchronous(), Checkpoints: kept,
		Entropy: run.Entropy(), Layout: w.Layout, Parameters: run.Parameters(),
	})
	if err != nil {
		return final, err
	}
	n.Say(report.Testing, "")
	return final, conclude(&final, run, w, to.dir)
}

// slowed makes a gradient take factor times as long as it must, by waiting.
func slowed(ctx context.Context, gradient gradient, factor float64) gradient {
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

type gradient = func(g []float32, k int, x []float32) (loss float32, err error)

func lostPolicy(cfg configs.Config) node.LostPolicy {
	switch cfg.Faults.OnLostNeighbor {
	case "stop":
		return node.Fail
	case "reweight":
		return node.Reweight
	}
	return node.Wait
}

// conclude completes a result with the score of the replica, and saves it.
func conclude(final *report.Final, run *experiment.Run, w *experiment.Worker, dir string) error {
	x := w.Machine.Params()
	score, err := w.Evaluate(x)
	if err != nil {
		return err
	}
	if report.Number(score.Loss) == nil {
		return fmt.Errorf("peer %d: after round %d: test loss is %g: %w", final.Rank, final.Rounds, score.Loss, train.ErrDiverged)
	}
	final.Theta, final.Bits = w.Bound(final.Rounds), w.MeanBits()
	final.Loss, final.Accuracy, final.Peak = score.Loss, score.Accuracy, peakMemory()
	return train.Write(modelPath(dir, final.Rank), train.Saved{X: x, Layout: run.Layout(), Metadata: map[string]string{
		"run": run.Config().Name, "rank": strconv.Itoa(final.Rank), "rounds": strconv.Itoa(final.Rounds),
	}})
}

// readModels reads the final models of a run's peers that came to the end, by rank.
func readModels(f *folder, peers int, finals []report.Final) ([][]float32, error) {
	models := make([][]float32, peers)
	for _, final := range finals {
		saved, err := train.Read(f.modelPath(final.Rank))
		if err != nil {
			return nil, err
		}
		models[final.Rank] = saved.X
	}
	return models, nil
}
