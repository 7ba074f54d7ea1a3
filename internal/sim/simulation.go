package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// A simulation is the state of a run: the workers, the frames on their way and the virtual clock.
type simulation struct {
	opt     Options
	peers   []peer
	threads []*thread // one for each core
	script  script    // nil: no faults
	keeper  keeper
	cores   *cost.Processors[*job] // nil: coding takes no time, and no worker waits for a core

	queue  queue
	batch  batch
	seq    uint64
	now    time.Duration
	events int // events handled
	last   int // rounds of a run that ends early; 0: not known
}

// A peer is a worker with its state in the simulation.
type peer struct {
	*work.Task

	core   gossip.Core // the machine, or the layers around it
	uplink *shape.Sharer[*flight]
	order  order
	coding *coding // nil without cores
	*process

	round    int // rounds finished
	ended    bool
	ready    time.Duration // when the last gradient was ready
	origin   time.Duration // when the clock of the machine was 0: a machine that resumes begins with 0 again
	sent     record.Bytes
	got      record.Bytes
	messages record.Messages // sent
	account  *work.Account   // nil without a record
}

// A script of faults changes the events of workers and frames.
type script interface {
	// act carries out the requests of a worker's layers.
	act(p *peer) error
	// failed handles an error of a worker: it returns the error that ends the run, or nil.
	failed(p *peer, err error) error
	// takes reports whether an event of a worker happens now.
	takes(p *peer, e event) (bool, error)
	// ship returns a frame on its way, and the number of its link.
	ship(f gossip.Frame) (gossip.Frame, int)
	// slowdown returns the factor on the time of a worker's gradients, ≥ 1.
	slowdown(rank topology.Rank) float64
}

// add adds an event to the queue.
func (s *simulation) add(e event) {
	e.seq = s.seq
	s.queue.push(e)
	s.seq++
}

// schedule adds an event to the queue.
func (s *simulation) schedule(at time.Duration, e event) { s.threads[0].schedule(at, e) }

// horizon bounds virtual time. A single event lies less than 150 years ahead, so no time exceeds a time.Duration.
const horizon = 100 * 365 * 24 * time.Hour

// stopped returns an error if ctx has ended, or if virtual time has passed the horizon.
func (s *simulation) stopped(ctx context.Context) error {
	if s.now > horizon {
		return fmt.Errorf("sim: the run takes more than 100 years of virtual time, and %d rounds of worker 0 are over: "+
			"raise limit.rate, or lower --compute or train.rounds", s.peers[0].round)
	}
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("sim: stopped at virtual time %v: %w", s.now, context.Cause(ctx))
}

// stuck returns an error if no event is left and a worker has not finished.
func (s *simulation) stuck() error {
	var errs []error
	for i := range s.peers {
		if p := &s.peers[i]; !p.ended {
			errs = append(errs, fmt.Errorf("sim: worker %d round %d waits for workers %v, and no event is left "+
				"that could change that", p.Rank, p.round, p.core.Ready().Waiting))
		}
	}
	return errors.Join(errs...)
}
