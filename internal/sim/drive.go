package sim

import (
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
)

// handle lets an event happen.
func (s *simulation) handle(e event) error {
	p := &s.peers[e.worker]
	if e.server != nil {
		if e.turn == e.server.Turn {
			s.attend(p, e.server)
		}
		return nil
	}
	if s.script != nil {
		if took, err := s.script.takes(p, e); !took {
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
		s.pool.wait(&p.order)
		p.ready = s.now
		if err = p.order.err; err == nil {
			err = p.core.Gradient(p.order.g, p.order.loss, s.now)
		}
	}
	if err != nil {
		return s.failed(p, err)
	}
	return s.act(p)
}

// failed handles an error of a worker. It returns the error that ends the run.
func (s *simulation) failed(p *peer, err error) error {
	if s.script != nil {
		return s.script.failed(p, err)
	}
	return &TrainingError{Rank: p.Rank, Round: p.round, Err: err}
}

// act carries out the requests of a worker's machine.
func (s *simulation) act(p *peer) error {
	if s.script != nil {
		return s.script.act(p)
	}
	for more := true; more; {
		r := p.core.Ready()
		if r.Failed != nil {
			return s.failed(p, r.Failed)
		}
		if err := s.obey(p, r); err != nil {
			return err
		}
		more = r.More
	}
	return nil
}

// obey carries out r.
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
		s.pool.release(&p.order)
	}
	if r.Compute && !p.ended {
		p.order.compute, p.order.round, p.order.at = p.Gradient, r.Round, r.At
		s.pool.submit(&p.order)
		s.schedule(s.now+s.computing(p, r.Round), event{worker: p.Rank, turn: p.number})
	}
	return nil
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
func (s *simulation) record(p *peer) {
	watched := s.opt.Observe != nil || s.opt.Ending.Until != nil
	if !watched || !p.Recorded(p.round) && p.round != s.last {
		return
	}
	step := p.Step(record.Step{
		Round: p.round, Time: s.now, Loss: float64(p.order.loss), Compute: s.computing(p, p.round-1),
		Wait: s.now - p.ready, Sent: p.sent, Received: p.got, Messages: p.messages,
	})
	if s.opt.Observe != nil {
		s.opt.Observe(record.Event{Step: &step})
	}
	s.opt.Ending.watch(step)
}
