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
	"time"

	"gossiptrainer/gossip"
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
	Observe func(record.Event) // nil = nobody watches
}

// A Result is what a run cost.
type Result struct {
	Time     time.Duration     // virtual time at which the last worker finished
	Rounds   []int             // per worker: rounds finished
	Sent     []record.Bytes    // per worker; Wire is modelled
	Messages []record.Messages // per worker
	Events   int               // events handled
}

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
		p.uplink = shape.NewSharer[event](opt.Network, p.Rank)
		dim = max(dim, len(p.Machine.Params()))
	}
	s.crew = newCrew(dim)
	err := s.run(ctx)
	s.crew.stop()
	res := Result{Time: s.now, Events: s.events}
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
	frames []*gossip.Frame // that have arrived: room for others
	seq    uint64
	now    time.Duration
	events int
	last   int // rounds of a run that ends before its time; 0 = not known to
}

// A peer is a worker with what the simulation keeps of it.
type peer struct {
	work.Task

	uplink *shape.Sharer[event]

	asked    int       // round of the gradient asked for last
	at       []float32 // where
	progress progress  // of that, for the crew
	g        []float32 // nil when neither crew nor machine has any use for it
	loss     float32
	err      error

	round    int // rounds finished
	ended    bool
	waiting  []topology.Rank
	ready    time.Duration // when the last gradient was ready
	sent     record.Bytes
	got      record.Bytes
	messages record.Messages // sent
}

func (s *simulation) run(ctx context.Context) error {
	for i := range s.peers {
		if err := s.act(&s.peers[i]); err != nil {
			return err
		}
	}
	for len(s.queue) > 0 {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("sim: stopped at virtual time %v: %w", s.now, context.Cause(ctx))
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

func (s *simulation) handle(e event) error {
	p := &s.peers[e.worker]
	if e.server != nil {
		if e.turn == e.server.Turn {
			s.attend(p, e.server)
		}
		return nil
	}
	var err error
	if e.frame != nil {
		p.got.Payload += payloadBytes(e.frame)
		p.got.Stream += int64(e.stream)
		p.got.Wire += int64(e.wire)
		err = p.Machine.Receive(*e.frame)
		s.frames = append(s.frames, e.frame)
	} else {
		s.crew.fetch(p)
		p.ready = s.now
		if err = p.err; err == nil {
			err = p.Machine.Gradient(p.g, p.loss, s.now)
		}
	}
	if err != nil {
		return &TrainingError{Rank: p.Rank, Round: p.round, Err: err}
	}
	return s.act(p)
}

// act does what a worker's machine asks for.
func (s *simulation) act(p *peer) error {
	r := p.Machine.Ready()
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
		s.schedule(s.now+s.opt.Compute(p.Rank, r.Round), event{worker: p.Rank})
	}
	return nil
}

// frame returns f in memory of its own.
func (s *simulation) frame(f gossip.Frame) *gossip.Frame {
	last := len(s.frames) - 1
	if last < 0 {
		return &f
	}
	own := s.frames[last]
	s.frames = s.frames[:last]
	*own = f
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
		Round: p.round, Time: s.now, Loss: float64(p.loss), Compute: s.opt.Compute(p.Rank, p.round-1), Wait: s.now - p.ready,
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
