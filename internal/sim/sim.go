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
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A Worker is one simulated peer.
type Worker struct {
	Machine gossip.Machine
	// Gradient writes the update direction of round k at x into g and returns
	// the training loss. It is called from another goroutine, never twice at
	// a time for one worker.
	Gradient func(g []float32, k int, x []float32) (loss float32, err error)
	Theta    func(k int) float64 // for the record; nil where there is none
	Bits     func(k int) int     // per parameter, for the record; nil where nobody knows
	// Layout says how the payload of a frame is cut, for the entropy coder; nil:
	// nothing is known of it.
	Layout func(f gossip.Frame) quant.Layout
	// Parameters is how many parameters of the model a message speaks for, for
	// the record.
	Parameters int
}

// Options say how time passes and who watches.
type Options struct {
	Network shape.Network
	Entropy entropy.Coder // of payloads; Auto weighs entropy.Typical costs
	// Compute returns the virtual time that a worker's gradient takes.
	Compute func(worker topology.Rank, k int) time.Duration
	Rounds  int                // rounds of the run, for the record's last line
	Ending  Ending             // of a run that may end before
	Every   int                // rounds between records, ≥ 1
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

// Run drives the workers to completion. Gradients are computed on all cores
// without changing any result: each is asked for as soon as its point is known
// and waited for when virtual time says that it is ready. The machines' own work
// is done in the order of virtual time.
func Run(ctx context.Context, workers []Worker, opt Options) (Result, error) {
	encoder, err := entropy.NewEncoder(opt.Entropy, entropy.Typical())
	if err != nil {
		return Result{}, err
	}
	s := &simulation{
		opt:     opt,
		encoder: encoder,
		peers:   make([]peer, len(workers)),
	}
	dim := 0
	for i := range s.peers {
		p := &s.peers[i]
		p.Worker, p.rank = workers[i], topology.Rank(i)
		p.uplink = shape.NewSharer[event](opt.Network, p.rank)
		dim = max(dim, len(p.Machine.Params()))
	}
	s.crew = newCrew(dim)
	err = s.run(ctx)
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
	opt     Options
	encoder *entropy.Encoder
	coded   []byte // by it, last
	peers   []peer
	crew    *crew

	queue  queue
	frames []*gossip.Frame // that have arrived: room for others
	seq    uint64
	now    time.Duration
	events int
	last   int // rounds of a run that ends before its time; 0 = not known to
}

// A peer is a worker with what the simulation keeps of it.
type peer struct {
	Worker
	rank topology.Rank

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
		return &TrainingError{Rank: p.rank, Round: p.round, Err: err}
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
			return &TrainingError{Rank: p.rank, Round: p.round, Err: err}
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
		s.schedule(s.now+s.opt.Compute(p.rank, r.Round), event{worker: p.rank})
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
	if !watched || p.round%s.opt.Every != 0 && p.round != s.opt.Rounds && p.round != s.last {
		return
	}
	k := p.round - 1
	mixed := p.Machine.Mixed()
	step := &record.Step{
		Rank: int(p.rank), Round: p.round, Time: s.now, Loss: float64(p.loss),
		Gap: float64(mixed.Gap), Moved: mixed.Moved,
		Compute: s.opt.Compute(p.rank, k), Wait: s.now - p.ready,
		Sent: p.sent, Received: p.got, Messages: p.messages, Effective: p.messages.Bits(p.Parameters),
	}
	if p.Theta != nil {
		step.Theta = p.Theta(k)
	}
	if p.Bits != nil {
		step.Bits = p.Bits(k)
	}
	if s.opt.Observe != nil {
		s.opt.Observe(record.Event{Step: step})
	}
	s.reached(*step)
}

// stuck returns an error if nothing can happen any more and somebody is not
// done.
func (s *simulation) stuck() error {
	var errs []error
	for i := range s.peers {
		if p := &s.peers[i]; !p.ended {
			errs = append(errs, fmt.Errorf("sim: worker %d round %d waits for %v for ever", p.rank, p.round, p.waiting))
		}
	}
	return errors.Join(errs...)
}
