// Package sim runs all workers of a run in one process on a virtual clock over modelled links.
//
// It computes the results of a real run, bit for bit, and the time that the run would take. It opens
// no socket and models no congestion control. Coding takes as much virtual time as Options.Costs say.
package sim

import (
	"context"
	"errors"
	"fmt"

	layers "gossiptrainer/gossip/peer"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// Run runs the tasks of all workers, in the order of their ranks, to completion. The coder Auto weighs the costs
// entropy.Typical. All cores compute gradients, which changes no result: Run starts each one as soon as its point is
// known and waits for it when virtual time says that it is ready. The machines' own work happens in the order of
// virtual time.
func Run(ctx context.Context, tasks []work.Task, opt Options) (Result, error) {
	s, err := newSimulation(tasks, opt)
	if err != nil {
		return Result{}, err
	}
	defer s.stop()
	if opt.Faults == nil {
		err = s.run(ctx)
		s.keeper.unwatch()
		return s.result(), err
	}
	if opt.Faults.Lost == layers.Reweight && (opt.Keep != nil || opt.From != nil) {
		return Result{}, errors.New("sim: workers that go on without others keep no state")
	}
	f := newFaultSim(s, opt.Faults)
	err = f.run(ctx)
	s.keeper.drop()
	res := s.result()
	res.Effects, res.Pending, res.Gone = f.effects.all, f.play.Pending(), f.gone()
	return res, err
}

// accounts is the largest number of workers whose waits and edges go on record. The record of more would be accounts
// for the most part.
const accounts = 256

// newSimulation prepares a run at its beginning. The caller stops it.
func newSimulation(tasks []work.Task, opt Options) (*simulation, error) {
	s := &simulation{opt: opt, peers: make([]peer, len(tasks))}
	if opt.Costs.Coding() || opt.Cores > 0 {
		s.cores = cost.NewProcessors[*job](opt.Cores)
	}
	only := new(process) // of all workers without a script: nothing changes it
	dim := 0
	for i := range tasks {
		t := &tasks[i]
		if t.Rank != topology.Rank(i) {
			return nil, fmt.Errorf("sim: internal error: task %d is that of worker %d", i, t.Rank)
		}
		p := &s.peers[i]
		p.Task = t
		p.core, p.process = p.Machine, only
		if s.cores != nil {
			p.coding = new(coding)
		}
		if opt.Observe != nil && len(tasks) <= accounts {
			p.account = work.NewAccount()
		}
		p.uplink = shape.NewSharer[*flight](&s.opt.Network, p.Rank)
		dim = max(dim, len(p.Machine.Params()))
	}
	if err := s.newThreads(dim); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// run carries out a run without faults.
func (s *simulation) run(ctx context.Context) error {
	s.keeper.watch(s)
	if from := s.opt.From; from != nil {
		if err := s.resume(from); err != nil {
			return err
		}
	}
	if l := newLockstep(s); l != nil {
		if over, err := l.run(ctx); over || err != nil {
			return err
		}
	} else if err := s.begin(); err != nil {
		return err
	}
	s.keeper.start()
	for s.queue.size() > 0 || s.busy() {
		if err := s.stopped(ctx); err != nil {
			return err
		}
		if at, ok := s.jobEnds(); ok {
			if err := s.endJob(at); err != nil {
				return err
			}
			continue
		}
		batch := s.queue.batch()
		s.now = batch[0].at
		if err := s.serve(ctx, batch); err != nil {
			return err
		}
		s.queue.reuse(batch)
		if err := s.keeper.keep(s); err != nil {
			return err
		}
	}
	return s.stuck()
}

// begin brings the run to its first round, or to the state from which it goes on.
func (s *simulation) begin() error {
	if from := s.opt.From; from != nil && from.run.Rest {
		return errors.New("sim: the state is of a run whose rounds need no events")
	} else if from != nil {
		return s.repeat(from)
	}
	for i := range s.peers {
		if err := s.act(s.threads[0], &s.peers[i]); err != nil {
			return err
		}
	}
	return nil
}

// result returns the costs of the run so far.
func (s *simulation) result() Result {
	n := len(s.peers)
	res := Result{Time: s.now, Events: s.events, Rounds: make([]int, n), Sent: make([]record.Bytes, n),
		Messages: make([]record.Messages, n)}
	for i := range s.peers {
		res.Rounds[i], res.Sent[i], res.Messages[i] = s.peers[i].round, s.peers[i].sent, s.peers[i].messages
	}
	return res
}
