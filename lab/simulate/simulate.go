// Package simulate runs simulated runs from their workers to their results, and reports the results to the sessions of
// the runs. The clock and the links are those of internal/sim.
package simulate

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"gossiptrainer/app/session"
	"gossiptrainer/app/worker"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// A Run is a simulated run on one network.
type Run struct {
	*session.Session
	Models score.InMemory // final ones; nil before the end
	From   *Resumed       // where the run goes on; nil: at the beginning
	Beside int            // further networks on which the run is simulated in this process
}

// A Timing says how long the work of a worker takes in virtual time.
type Timing struct {
	Compute cost.Compute // the zero value: a gradient is measured, and coding takes no time; see Timing.Measure
	Cores   uint         // that all workers share; 0: each has its own
}

// A run of many workers keeps nearly all that it allocates, so it collects garbage when the heap has grown by a small
// part, in percent.
const (
	many   = 1 << 14
	thrift = 15
)

// Together simulates the runs of one run file on several networks at once, and computes every gradient once. The first
// error ends all runs. The sessions must have an ending, and stay open.
func Together(ctx context.Context, all []*Run, timing Timing) error {
	runs := make([]*experiment.Run, len(all))
	for i, r := range all {
		runs[i] = r.Session.Run
	}
	if runs[0].N() >= many {
		debug.SetGCPercent(thrift) // also for what follows: the results are large, too
	}
	workers, err := build.Together(runs)
	if err != nil {
		return err
	}
	costs, err := timing.costs(all[0])
	if err != nil {
		return err
	}
	if c := runs[0].Config().Checkpoint; c.Every > 0 || c.Seconds > 0 {
		if why := all[0].CannotKeep(); why != "" {
			fmt.Fprintf(all[0].Session.Display, "an interruption loses the run: %s\n", why)
		}
	}
	for _, r := range all {
		r.Costs, r.Cores = costs, int(timing.Cores)
	}
	return allAtOnce(ctx, len(all), func(ctx context.Context, i int) error {
		return all[i].train(ctx, workers[i])
	})
}

// allAtOnce does something n times at once. The first error ends all.
func allAtOnce(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// train simulates the run to its end and reports the results.
func (s *Run) train(ctx context.Context, workers []*build.Worker) error {
	means := s.Session.Run.Scorer().NewAverager(s.Event)
	var from *sim.Saved
	if s.From != nil {
		if err := s.From.restore(workers); err != nil {
			return err
		}
		from = s.From.from
		means.GoOn(from.Began())
	}
	scores := newsOnly(len(workers), s.From.began(), s.Event)
	keep, graced := s.keeping(), ctx
	if keep != nil {
		var end func()
		graced, end = keep.graced(ctx)
		defer end()
	}
	result, err := sim.Run(graced, simulatedTasks(s.Session.Run, workers, means, scores), sim.Options{
		Network: s.Session.Run.Network(),
		Compute: func(rank topology.Rank, _ int) time.Duration {
			return time.Duration(float64(s.Costs.Gradient) * s.Session.Run.Config().Train.Slowdown(rank))
		},
		Steady:   true,
		Together: build.Stacked(workers),
		Models:   build.Models(workers),
		Costs:    s.Costs,
		Cores:    s.Cores,
		Ending:   s.Ending(),
		Faults:   s.faults(workers, means, scores),
		Observe:  s.Event,
		Keep:     keep.rules(),
		From:     from,
	})
	if err != nil {
		return err
	}
	if len(workers) >= many {
		runtime.GC() // results grow while the simulation is still in memory
	}
	s.Simulated(result.Time)
	for _, f := range result.Pending {
		s.Missed(f, result.Time)
	}
	if s.Models, err = s.concludeSim(ctx, workers, result); err != nil {
		return err
	}
	if len(result.Gone) > 0 {
		return nil
	}
	return means.Conclude(s.Models, result.Rounds[0])
}

func simulatedTasks(run *experiment.Run, workers []*build.Worker, means *score.Averager,
	scores func(record.Event)) []work.Task {
	tasks := build.Tasks(workers)
	for i, w := range workers {
		tasks[i].Gradient = means.Watched(w.Rank, build.Scored(w, w.Gradient, scores))
		w.Task = &tasks[i] // instead of a copy
	}
	return tasks
}

// concluding is how many results are made at a time: a model is on disk when it
// has been saved, so that much of this is waiting.
const concluding = 8

// concludeSim reports the results of all workers and returns their models.
func (s *Run) concludeSim(ctx context.Context, workers []*build.Worker, result sim.Result) (score.InMemory,
	error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	models := make(score.InMemory, len(workers))
	for rank := range workers {
		if result.Lost(rank) {
			continue
		}
		s.Event(record.Event{Status: &record.Status{Rank: rank, State: record.Testing}})
	}
	busy := make(chan struct{}, concluding)
	var all sync.WaitGroup
	for rank, w := range workers {
		if result.Lost(rank) {
			continue
		}
		models[rank] = w.Model()
		busy <- struct{}{}
		all.Go(func() {
			defer func() { <-busy }()
			if ctx.Err() != nil {
				return
			}
			if err := s.concludeWorker(w, rank, result); err != nil {
				cancel(err)
			}
			*w.Task, workers[rank] = work.Task{}, nil // their memory is needed for results
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil || !worker.Stacks(s.Session.Run) {
		return models, err
	}
	results := worker.Results{Dir: s.Folder.Dir, Saver: s.Saver}
	return models, results.SaveReplicas(s.Session.Run, models, result.Rounds[0])
}

func (s *Run) concludeWorker(w *build.Worker, rank int, result sim.Result) error {
	final := w.Final(record.Final{
		Rounds: result.Rounds[rank], Sent: result.Sent[rank], Messages: result.Messages[rank], Time: result.Time,
	})
	results := worker.Results{Dir: s.Folder.Dir, Saver: s.Saver}
	if err := results.Complete(&final, s.Session.Run, w, s.Testing(rank)); err != nil {
		return err
	}
	s.Event(record.Event{Final: &final})
	return nil
}
