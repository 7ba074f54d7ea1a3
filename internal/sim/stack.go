package sim

import (
	"gossiptrainer/algos"
	"gossiptrainer/gossip"
)

// Workers whose models are rows of one array go through a round as a stack, with a few calls for each.

// calm is the number of rounds without repairs after which workers are a stack again.
const calm = 16

// atOnce is the number of coordinates whose gradients a thread takes at a time. They stay in the first cache.
const atOnce = 1 << 12

// stack returns the stack of the workers, nil where they go through round k themselves.
func (l *lockstep) stack(k int) (*gossip.Stack, error) {
	if l.rows.rough > 0 {
		l.rows.rough--
		return nil, nil
	}
	s, err := l.machine.Stack()
	if err != nil {
		return nil, err
	}
	if s == nil {
		l.rows.rough = calm
		return nil, nil
	}
	sure := s.Begin()
	if sure && s.Makes() {
		if err := l.parts(ofRows, func(_, first, end int) error { return l.encode(s, first, end, k) }); err != nil {
			return nil, err
		}
		if err := l.parts(ofRows, func(thread, first, end int) error {
			for i := first; i < end && !l.lanes[thread].unsure; i++ {
				l.lanes[thread].unsure = !s.Sure(i)
			}
			return nil
		}); err != nil {
			return nil, err
		}
		sure = !l.any(func(r *lane) bool { return r.unsure })
	}
	if sure {
		return s, nil
	}
	l.rows.rough = calm
	if err := l.enter(k); err != nil {
		return nil, err
	}
	return nil, l.machine.Unstack()
}

// encode lets the workers from first up to end make their messages of round k.
func (l *lockstep) encode(s *gossip.Stack, first, end, k int) error {
	for i := first; i < end; i++ {
		if err := s.Encode(i); err != nil {
			return &TrainingError{Rank: l.peers[i].Rank, Round: k, Err: err}
		}
	}
	return nil
}

// pass lets the workers from first up to end go through round k.
func (l *lockstep) pass(s *gossip.Stack, thread, first, end, k int) error {
	x, largest := s.Models()
	many := max(1, min(end-first, atOnce/x.Stride))
	g := &l.lanes[thread].g
	if len(g.Data) < many*x.Stride || g.Dim != x.Dim {
		*g = algos.NewRows(many, x.Dim)
	}
	for ; first < end; first += many {
		many = min(many, end-first)
		losses := l.rows.losses[first : first+many]
		together := l.opt.Together != nil && l.opt.Together(k, algos.Stacked{
			First: first, X: x.From(first), G: *g, Largest: largest[first : first+many], Losses: losses,
		})
		for j := range losses {
			if err := l.step(s, turn{thread, first + j, k, together}, g.Whole(j)); err != nil {
				return &TrainingError{Rank: l.peers[first+j].Rank, Round: k, Err: err}
			}
		}
	}
	return nil
}

// A turn is the step of a worker.
type turn struct {
	thread, worker, k int
	taken             bool // its gradient is there
}

// step lets a worker go through its round. Its gradient is g, a row with what fills it up.
func (l *lockstep) step(s *gossip.Stack, t turn, g []float32) (err error) {
	i, k := t.worker, t.k
	x, _ := s.Models()
	p := &l.peers[i]
	take := func() error {
		l.rows.losses[i], p.order.err = p.Gradient(g[:x.Dim], k, x.At(i))
		return p.order.err
	}
	if !t.taken {
		if err := take(); err != nil {
			return err
		}
	}
	if err := s.Step(i, g); err != nil {
		if t.taken { // the gradient may be the reason
			if why := take(); why != nil {
				return why
			}
		}
		return err
	}
	if l.rows.later != nil {
		return nil
	}
	p.order.loss, p.ready = l.rows.losses[i], l.at.begun[i]+l.at.takes[i]
	return l.finish(t.thread, i, k)
}
