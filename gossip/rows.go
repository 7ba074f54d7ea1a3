package gossip

import "gossiptrainer/algos"

// rows go through the rounds of D-PSGD in full precision, in place of the workers. Small models of many workers take
// longer to reach in memory than to mix. So what a round needs of all workers lies side by side, and the workers are
// brought to their round only before a driver looks at them.
type rows struct {
	k       int
	settled int // the round in which the workers are
	rules   []*algos.DPSGD
	first   []int32 // by worker: its first neighbour in from, with the number of all at the end
	from    []int32
	in      []algos.Message // beside from, without payloads
	guards  []guard
	saw     []algos.Mixed
}

// newRows returns nil where the workers run something else.
func newRows(l *Lockstep) *rows {
	r := &rows{k: l.workers[0].k, settled: l.workers[0].k}
	for _, w := range l.workers {
		rule, ok := w.alg.Algorithm.(*algos.DPSGD)
		if !ok || !rule.Plain() {
			return nil
		}
		x := w.inbox.at(w.slot())
		r.first = append(r.first, int32(len(r.from)))
		for j := range x.from {
			r.from = append(r.from, int32(x.from[j].rank))
		}
		r.in = append(r.in, x.in...)
		r.rules, r.guards, r.saw = append(r.rules, rule), append(r.guards, w.guard), append(r.saw, w.mixed)
	}
	r.first = append(r.first, int32(len(r.from)))
	for _, made := range l.made {
		for i, payload := range made.payloads {
			if d := len(r.rules[i].X); cap(payload) < 4*d { // a message before the first round
				made.payloads[i] = make([]byte, 4*d)
			}
		}
	}
	return r
}

// step lets a worker mix the messages of its neighbours, take its step and make its next message.
func (r *rows) step(l *Lockstep, i int, g []float32) error {
	rule, now, next := r.rules[i], &l.made[r.k%2], &l.made[(r.k+1)%2]
	in := r.in[r.first[i]:r.first[i+1]]
	limit := r.guards[i].limit()
	for j, from := range r.from[r.first[i]:r.first[i+1]] {
		in[j].Payload, in[j].Limit = now.payloads[from], limit
	}
	saw, err := rule.Mix(r.k, 0, in)
	if err == nil {
		r.saw[i] = saw
		r.guards[i].mixed(saw)
		err = rule.Descend(r.k, g)
	}
	w := l.workers[i]
	if err == nil && r.k+1 < w.schedule.Rounds {
		next.payloads[i], err = rule.Send(r.k+1, 0, next.payloads[i][:0])
	}
	if err != nil {
		return w.fail(w.located(err))
	}
	return nil
}

// settle brings the workers to the present round.
func (r *rows) settle(l *Lockstep) {
	for i, w := range l.workers {
		if r.k == r.settled {
			break
		}
		w.k, w.guard, w.mixed = r.k, r.guards[i], r.saw[i]
		b := &w.outbox
		last := r.k // of the messages that exist
		if w.phase = computing; r.k == w.schedule.Rounds {
			w.phase, last = done, r.k-1
		}
		for slot := max(0, last-1); slot <= last; slot++ {
			m := b.at(slot)
			m.Frame = Frame{From: w.self, Round: slot}
			m.pieces[0] = l.made[slot%2].payloads[i]
		}
		b.sent, b.made = last+1, 1
		b.size = max(b.size, len(l.made[last%2].payloads[i]))
	}
	r.settled = r.k
}
