// Package worker runs one worker of a run on a node, from its first round or its
// checkpoint to the score of its model and the file that holds it.
//
// It keeps the state of the worker in the folder of the run: checkpoints, and the journal of later messages. From there
// the worker resumes in another process, and neighbours that come back get the messages that they missed.
package worker

import (
	"context"
	"errors"
	"time"

	"gossiptrainer/app/script"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/work"
	"gossiptrainer/node"
	"gossiptrainer/topology"
)

// Options say how a worker is run.
type Options struct {
	Results
	// Observe is told the scores of the replica while it trains.
	Observe func(record.Event)
	// Checkpoints keep the state of the worker, nil: nothing keeps it.
	Checkpoints *node.Checkpoints
	// Store has the checkpoints; nil: nothing keeps any.
	Store *Store
	// Returned says that an earlier process of this worker took part in the run.
	Returned bool
	// Arbiter may end the run before its rounds are over; nil: it does not end early.
	Arbiter node.Arbiter
	// Through reports which workers have ended well and are gone; nil: unknown.
	Through func(topology.Rank) bool
	// Trial is what a script of faults makes of the worker; nil: nothing.
	Trial *Trial
	// Script trains an external model; nil: the model is built in. Train ends it.
	Script *script.Child
}

// Train runs worker w on a node that has joined, tests its replica, and saves it. If the run has gone on without w, the
// worker asks for a place, and continues from there.
func Train(
	ctx context.Context, n *node.Node, run *experiment.Run, w *build.Worker, o Options,
) (record.Final, error) {
	final, run, w, err := o.train(ctx, n, run, w)
	if err != nil {
		if o.Script != nil {
			o.Script.Stop(ctx, err, final.Rounds, w.Machine.Params())
		}
		return final, err
	}
	testing := record.Status{State: record.Testing}
	n.Say(testing)
	if o.Script != nil {
		final.Stopped = o.Script.Stopped()
		final.Loss, final.Accuracy, err = o.Script.Finish(ctx, final.Rounds, w.Rounds, w.Machine.Params())
		if err != nil { // the script's: the model is there
			return final, errors.Join(err, o.Complete(&final, run, w, nil))
		}
	}
	watch := EachSecond(func(share float64) {
		testing.Share = share
		n.Say(testing)
	})
	return final, o.Complete(&final, run, w, watch)
}

// train does the rounds of w, or of the worker that comes back in its place. It returns that worker, and the run that
// it has at its end.
func (o *Options) train(
	ctx context.Context, n *node.Node, run *experiment.Run, w *build.Worker,
) (record.Final, *experiment.Run, *build.Worker, error) {
	driven := o.driven(ctx, run, w, node.Worker{
		Checkpoints: o.Checkpoints, Returned: o.Returned,
	})
	if o.Script != nil {
		driven.Program.Change = func() (*work.Change, error) { return o.change(&run, w) }
	}
	final, err := n.Run(ctx, driven)
	if !errors.Is(err, node.ErrLeftBehind) {
		return final, run, w, err
	}
	back, place, err := comeBack(ctx, n, run, w.Rank, o.Arbiter)
	if err != nil {
		return final, run, w, err
	}
	final, err = n.Run(ctx, o.driven(ctx, run, back, node.Worker{Place: place}))
	return final, run, back, err
}

// change makes w go on with the vector that its script has chosen, if it has. The run becomes that of this vector.
func (o *Options) change(run **experiment.Run, w *build.Worker) (*work.Change, error) {
	told := o.Script.Change()
	if told == nil {
		return nil, nil
	}
	next, err := (*run).Outlined(told.Outline)
	if err != nil {
		return nil, err
	}
	change, err := build.Change(next, w, told.From, told.Vector)
	if err != nil {
		return nil, err
	}
	*run = next
	if o.Store != nil {
		o.Store.change(next, told.From)
	}
	return change, nil
}

// driven completes the options of a node for w; d says where it begins.
func (o *Options) driven(
	ctx context.Context, run *experiment.Run, w *build.Worker, d node.Worker,
) node.Worker {
	d.Task = *w.Task
	slow := slowed(ctx, w.Gradient, run.Config().Train.Slowdown(w.Rank))
	d.Gradient = build.Scored(w, o.Trial.tried(ctx, slow), o.Observe)
	d.Arbiter, d.Through = o.Arbiter, o.Through
	if o.Script != nil {
		d.Program = &node.Program{Late: o.Script.Late.Observe, Notice: o.Script.Notice, Newest: o.Script.Newest}
	}
	d.Surroundings = work.Surroundings{Network: run.Network(), Processor: machine.ProcessorTime}
	d.OpenLinks = run.Config().Node.OpenLinks
	d.Lost, d.Tolerance = LostPolicy(run), run.Config().Faults.Tolerance
	return d
}

// comeBack builds a lost worker for its place in a run that has gone on.
func comeBack(
	ctx context.Context, n *node.Node, run *experiment.Run, rank topology.Rank, a node.Arbiter,
) (*build.Worker, *node.Place, error) {
	closing := run.Closing(rank)
	if run.Method().Asynchronous() { // a place begins with a round
		closing = nil
	}
	var w *build.Worker
	place, err := n.ComeBack(ctx, closing, a, func(p node.Place, s *state.Snapshot) (err error) {
		w, err = build.Join(run, rank, p.Sponsor, s)
		return err
	})
	return w, &place, err
}

// slowed makes a gradient take factor times as long, by waiting.
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

// LostPolicy returns what the workers of a run do about a lost neighbour.
func LostPolicy(run *experiment.Run) node.LostPolicy {
	switch run.Config().Faults.OnLostNeighbor {
	case "stop":
		return node.Fail
	case "reweight":
		return node.Reweight
	}
	return node.Wait
}
