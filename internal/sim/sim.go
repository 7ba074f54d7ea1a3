// Package sim runs all workers of a run in one process on a virtual clock over
// modelled links.
//
// It computes what a real run would compute, bit for bit, and how long it would
// take; it opens no socket, and models no congestion control. Entropy coding
// makes its frames shorter and takes no virtual time: how long it takes is the
// machine's affair, and the result must not depend on that.
package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// Options say how time passes and who watches.
type Options struct {
	Network shape.Network
	// Compute returns the virtual time that a worker's gradient takes.
	Compute func(worker topology.Rank, k int) time.Duration
	Ending  Ending             // of a run that may end before
	Faults  *Faults            // made on purpose; nil = nothing happens
	Observe func(record.Event) // nil = nobody watches
}

// A Result is what a run cost.
type Result struct {
	Time     time.Duration     // virtual time at which the last worker finished
	Rounds   []int             // per worker: rounds finished
	Sent     []record.Bytes    // per worker; Wire is modelled
	Messages []record.Messages // per worker
	Events   int               // events handled
	Effects  []Effect          // of the faults, in the order in which they began
	Pending  []fault.Fault     // faults whose moment the run did not reach
	Gone     []topology.Rank   // workers without which the run has gone on to its end
}

// Lost reports whether the run has gone on without a worker.
func (r Result) Lost(rank int) bool { return slices.Contains(r.Gone, topology.Rank(rank)) }

// Run drives the tasks of all workers, in the order of their ranks, to completion.
// A coder Auto weighs entropy.Typical costs. Gradients are computed on all cores
// without changing any result: each is asked for as soon as its point is known
// and waited for when virtual time says that it is ready. The machines' own work
// is done in the order of virtual time.
func Run(ctx context.Context, tasks []work.Task, opt Options) (Result, error) {
	s := &simulation{
		opt:      opt,
		encoders: make(map[entropy.Coder]*entropy.Encoder),
		peers:    make([]peer, len(tasks)),
	}
	dim := 0
	for i, t := range tasks {
		if t.Rank != topology.Rank(i) {
			return Result{}, fmt.Errorf("sim: internal error: worker %d stands where worker %d belongs", t.Rank, i)
		}
		if s.encoders[t.Entropy] == nil {
			encoder, err := entropy.NewEncoder(t.Entropy, entropy.Typical())
			if err != nil {
				return Result{}, err
			}
			s.encoders[t.Entropy] = encoder
		}
		p := &s.peers[i]
		p.Task = t
		p.core = p.Machine
		p.uplink = shape.NewSharer[event](opt.Network, p.Rank)
		dim = max(dim, len(p.Machine.Params()))
	}
	s.crew = newCrew(dim)
	err := s.simulate(ctx)
	s.crew.stop()
	res := Result{Time: s.now, Events: s.events}
	if s.stage != nil {
		res.Effects, res.Pending, res.Gone = s.stage.effects, s.stage.play.Pending(), s.stage.gone()
	}
	for i := range s.peers {
		res.Rounds = append(res.Rounds, s.peers[i].round)
		res.Sent = append(res.Sent, s.peers[i].sent)
		res.Messages = append(res.Messages, s.peers[i].messages)
	}
	return res, err
}

type simulation struct {
	opt      Options
	encoders map[entropy.Coder]*entropy.Encoder
	coded    []byte // the payload that was coded last
	peers    []peer
	crew     *crew

	queue  queue
	frames []*flight // that have arrived: room for others
	stage  *stage    // nil: nothing happens
	seq    uint64
	now    time.Duration
	events int
	last   int // rounds of a run that ends before its time; 0 = not known to
}

// A peer is a worker with what the simulation keeps of it.
type peer struct {
	work.Task

	core   gossip.Core // the machine, or the layers around it
	uplink *shape.Sharer[event]
	order
	*fate // under a script; nil: nothing happens to it

	round    int // rounds finished
	ended    bool
	waiting  []topology.Rank
	ready    time.Duration // when the last gradient was ready
	sent     record.Bytes
	got      record.Bytes
	messages record.Messages // sent
}

// An order is a gradient that a machine has asked for.
type order struct {
	asked    int       // round of the last one
	at       []float32 // where
	progress progress  // of that, for the crew
	g        []float32 // nil when neither crew nor machine has any use for it
	loss     float32
	err      error
}

// simulate makes the run, with or without faults.
func (s *simulation) simulate(ctx context.Context) error {
	if s.opt.Faults == nil {
		return s.run(ctx)
	}
	return s.newStage(s.opt.Faults).run(ctx)
}

func (s *simulation) run(ctx context.Context) error {
	for i := range s.peers {
		if err := s.act(&s.peers[i]); err != nil {
			return err
		}
	}
	for len(s.queue) > 0 {
		if err := s.stopped(ctx); err != nil {
			return err
		}
		e := s.queue.pop()
		s.now = e.at
		if err := s.end(); err != nil {
			return err
		}
		s.events++
		if err := s.handle(e); err != nil {
			return err
		}
	}
	return s.stuck()
}

// stopped returns an error if ctx has ended.
func (s *simulation) stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("sim: stopped at virtual time %v: %w", s.now, context.Cause(ctx))
}

func (s *simulation) handle(e event) error {
	p := &s.peers[e.worker]
	if e.server != nil {
		if e.turn == e.server.Turn {
			s.attend(p, e.server)
		}
		return nil
	}
	if p.fate != nil {
		if took, err := s.stage.takes(p, e); !took {
			return err
		}
	}
	var err error
	if e.frame != nil {
		p.got.Payload += payloadBytes(&e.frame.Frame)
		p.got.Stream += int64(e.stream)
		p.got.Wire += int64(e.wire)
		err = p.core.Receive(e.frame.Frame)
		s.frames = append(s.frames, e.frame)
	} else {
		s.crew.fetch(p)
		p.ready = s.now
		if err = p.err; err == nil {
			err = p.core.Gradient(p.g, p.loss, s.now)
		}
	}
	if err != nil {
		return s.failed(p, err)
	}
	return s.act(p)
}

// failed deals with an error of a worker.
func (s *simulation) failed(p *peer, err error) error {
	if p.fate != nil {
		return s.stage.failed(p, err)
	}
	return &TrainingError{Rank: p.Rank, Round: p.round, Err: err}
}

// act does what a worker's machine asks for.
func (s *simulation) act(p *peer) error {
	if p.fate != nil {
		return s.stage.act(p)
	}
	return s.obey(p, p.core.Ready())
}

// obey does what r asks for.
func (s *simulation) obey(p *peer, r gossip.Ready) error {
	p.waiting = append(p.waiting[:0], r.Waiting...)
	for rest := r.Send; len(rest) > 0; {
		same := rest[:gossip.Shared(rest)]
		if err := s.send(p, same); err != nil {
			return &TrainingError{Rank: p.Rank, Round: p.round, Err: err}
		}
		rest = rest[len(same):]
	}
	if r.Round > p.round {
		p.round = r.Round
		s.record(p)
	}
	p.ended = r.Done
	if r.Compute || p.ended {
		s.crew.release(p)
	}
	if r.Compute && !p.ended {
		p.asked, p.at = r.Round, r.At
		s.crew.order(p)
		s.schedule(s.now+s.computing(p, r.Round), event{worker: p.Rank, turn: p.lives()})
	}
	return nil
}

// computing returns the time that a gradient of p takes now.
func (s *simulation) computing(p *peer, k int) time.Duration {
	took := s.opt.Compute(p.Rank, k)
	if p.fate != nil {
		took = time.Duration(float64(took) * s.stage.play.Slowdown(p.Rank))
	}
	return took
}

// frame returns f in memory of its own.
func (s *simulation) frame(f gossip.Frame) *flight {
	number := 0
	if s.stage != nil {
		f, number = s.stage.ship(f)
	}
	last := len(s.frames) - 1
	if last < 0 {
		return &flight{f, number}
	}
	own := s.frames[last]
	s.frames = s.frames[:last]
	*own = flight{f, number}
	return own
}

func (s *simulation) schedule(at time.Duration, e event) {
	e.at, e.seq = at, s.seq
	s.queue.push(e)
	s.seq++
}

func (s *simulation) record(p *peer) {
	watched := s.opt.Observe != nil || s.opt.Ending.Until != nil
	if !watched || !p.Recorded(p.round) && p.round != s.last {
		return
	}
	step := p.Step(record.Step{
		Round: p.round, Time: s.now, Loss: float64(p.loss), Compute: s.computing(p, p.round-1), Wait: s.now - p.ready,
		Sent: p.sent, Received: p.got, Messages: p.messages,
	})
	if s.opt.Observe != nil {
		s.opt.Observe(record.Event{Step: &step})
	}
	s.reached(step)
}

// stuck returns an error if nothing can happen any more and somebody is not
// done.
func (s *simulation) stuck() error {
	var errs []error
	for i := range s.peers {
		if p := &s.peers[i]; !p.ended {
			errs = append(errs, fmt.Errorf("sim: worker %d round %d waits for %v for ever", p.Rank, p.round, p.waiting))
		}
	}
	return errors.Join(errs...)
}
