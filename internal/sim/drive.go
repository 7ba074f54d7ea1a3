package sim

import (
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/work"
)

// handle lets an event happen.
func (s *simulation) handle(t *thread, e *event) error {
	p := &s.peers[e.worker]
	if e.server != nil {
		if e.turn == e.server.Turn {
			t.attend(p, e.server)
		}
		return nil
	}
	if s.script != nil {
		if took, err := s.script.takes(p, *e); !took {
			return err
		}
	}
	if e.frame != nil && e.frame.ahead != nil {
		first := e.frame.ahead
		e.frame.ahead = nil
		if err := s.handle(t, &event{at: e.at, worker: e.worker, frame: first}); err != nil {
			return err
		}
	}
	if s.script == nil {
		s.keeper.sees(p, e.call())
	}
	var err error
	if f := e.frame; f != nil {
		p.received(f, s.now)
		s.arrived(p, f)
		err = p.core.Receive(f.Frame)
		t.landed(f)
	} else {
		t.pool.wait(&p.order)
		p.ready = s.now
		if err = p.order.err; err == nil {
			err = p.core.Gradient(p.order.g, p.order.loss, s.now-p.origin)
		}
	}
	if err != nil {
		return s.failed(p, err)
	}
	return s.act(t, p)
}

// call returns the call of a machine that an event makes.
func (e *event) call() gossip.Call {
	if e.frame == nil {
		return gossip.Call{Kind: gossip.GradientCall}
	}
	return gossip.Call{Kind: gossip.ReceiveCall, Frame: e.frame.Frame}
}

// failed handles an error of a worker. It returns the error that ends the run.
func (s *simulation) failed(p *peer, err error) error {
	if s.script != nil {
		return s.script.failed(p, err)
	}
	return &TrainingError{Rank: p.Rank, Round: p.round, Err: err}
}

// act carries out the requests of a worker's machine.
func (s *simulation) act(t *thread, p *peer) error {
	if s.script != nil {
		return s.script.act(p)
	}
	for more := true; more; {
		r := p.core.Ready()
		if r.Failed != nil {
			return s.failed(p, r.Failed)
		}
		if err := s.obey(t, p, &r); err != nil {
			return err
		}
		more = r.More
	}
	return nil
}

// obey carries out r.
func (s *simulation) obey(t *thread, p *peer, r *gossip.Ready) error {
	for rest := r.Send; len(rest) > 0; {
		same := rest[:gossip.Shared(rest)]
		if err := t.send(p, same); err != nil {
			return &TrainingError{Rank: p.Rank, Round: p.round, Err: err}
		}
		rest = rest[len(same):]
	}
	p.account.Lack(r.Waiting, s.now)
	if r.Round > p.round {
		p.round = r.Round
		p.account.Finish(record.Spent{Compute: s.computing(p, p.round-1), Wait: s.now - p.ready})
		s.record(t, p)
		s.keeper.begins(r.Round)
	}
	if computes := t.compute(p, r); s.cores != nil {
		s.charge(p, r, computes)
	} else if computes {
		t.schedule(s.now+s.computing(p, r.Round), event{worker: p.Rank, turn: p.number})
	}
	return nil
}

// compute orders the gradient that a machine asks for. It reports whether it has ordered one.
func (t *thread) compute(p *peer, r *gossip.Ready) bool {
	p.ended = r.Done
	if r.Compute || p.ended {
		t.pool.release(&p.order)
	}
	if !r.Compute || p.ended {
		return false
	}
	p.order.compute, p.order.round, p.order.at = p.Gradient, r.Round, r.At
	t.pool.submit(&p.order)
	return true
}

// computing returns the virtual time that the gradient of round k of a worker takes now.
func (s *simulation) computing(p *peer, k int) time.Duration {
	took := s.opt.Compute(p.Rank, k)
	if s.script != nil {
		took = time.Duration(float64(took) * s.script.slowdown(p.Rank))
	}
	return took
}

// record records the last finished round of a worker.
func (s *simulation) record(t *thread, p *peer) {
	watched := s.opt.Observe != nil || s.opt.Ending.Until != nil
	if !watched || !p.Recorded(p.round) && p.round != s.last {
		return
	}
	step := p.Step(record.Step{
		Round: p.round, Time: s.now, Loss: float64(p.order.loss), Compute: s.computing(p, p.round-1),
		Wait: s.now - p.ready, Sent: p.sent, Received: p.got, Messages: p.messages,
	})
	if s.cores != nil {
		p.coding.next.step = &step
		return
	}
	t.step(step, s.report(p, &step))
}

// report returns the account of a worker if it goes on record with a step, nil if it does not.
func (s *simulation) report(p *peer, step *record.Step) *record.Links {
	if !p.account.Due(step, p.Rounds) {
		return nil
	}
	links := p.Report(p.account, step, &work.Surroundings{Network: s.opt.Network})
	return &links
}

// observe passes on a step, and the account of its worker if there is one.
func (s *simulation) observe(step record.Step, account *record.Links) {
	if s.opt.Observe != nil {
		s.opt.Observe(record.Event{Step: &step})
		if account != nil {
			s.opt.Observe(record.Event{Links: account})
		}
	}
	s.opt.Ending.watch(step)
}

// received counts a frame that has arrived.
func (p *peer) received(f *flight, now time.Duration) {
	bytes := record.Bytes{Payload: int64(f.Frame.MessageBytes()), Stream: int64(f.stream), Wire: int64(f.wire)}
	p.got.Add(bytes)
	if p.account != nil {
		p.account.Came(f.From, now)
		p.account.Link(f.From).Received.Add(bytes)
	}
}
