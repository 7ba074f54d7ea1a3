package gossip

import (
	"gossiptrainer/algos"
	"gossiptrainer/internal/vec"
	"gossiptrainer/topology"
)

// rows go through the rounds of D-PSGD in full precision, in place of the workers. Small models of many workers take
// longer to reach in memory than to mix. So what a round needs of all workers lies side by side, and the workers are
// brought to their round only before a driver looks at them.
type rows struct {
	k       int
	rounds  int
	settled int // the round in which the workers are
	rules   []*algos.DPSGD
	first   []int32 // by worker: its first neighbour in from, with the number of all at the end
	from    []int32
	weights []float32 // beside from
	theirs  [][]byte  // beside from
	guards  []guard
	saw     []algos.Mixed
	largest [2][]float32 // by worker: magnitude in its message of round k, in largest[k mod 2]
}

// newRows returns nil where the workers run something else.
func newRows(l *Lockstep) *rows {
	r := &rows{k: l.workers[0].k, settled: l.workers[0].k, rounds: l.workers[0].schedule.Rounds}
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
		for j := range x.in {
			r.weights = append(r.weights, x.in[j].Weight)
		}
		r.rules, r.guards, r.saw = append(r.rules, rule), append(r.guards, w.guard), append(r.saw, w.mixed)
	}
	r.first = append(r.first, int32(len(r.from)))
	r.theirs = make([][]byte, len(r.from))
	for parity, made := range l.made {
		r.largest[parity] = make([]float32, len(r.rules))
		for i, rule := range r.rules {
			r.largest[parity][i] = vec.MaxAbs(rule.X) // of the message that exists
		}
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
	rule, first, end := r.rules[i], r.first[i], r.first[i+1]
	now, next := r.k%2, (r.k+1)%2
	theirs, largest := r.theirs[first:end], float32(0)
	for j, from := range r.from[first:end] {
		theirs[j], largest = l.made[now].payloads[from], max(largest, r.largest[now][from])
	}
	if limit := r.guards[i].limit(); !(largest <= limit) {
		return r.refuse(l, i, limit)
	}
	r.saw[i] = rule.MixPlain(theirs, r.weights[first:end], largest)
	r.guards[i].mixed(r.saw[i])
	err := rule.Descend(r.k, g)
	if to := &l.made[next].payloads[i]; err == nil && r.k+1 < r.rounds {
		*to, r.largest[next][i], err = rule.SendPlain(r.k+1, (*to)[:0])
	}
	return r.failed(l, i, err)
}

// failed stops a worker for good because of err, unless that is nil.
func (r *rows) failed(l *Lockstep, i int, err error) error {
	if err == nil {
		return nil
	}
	w := l.workers[i]
	w.k = r.k
	return w.fail(w.located(err))
}

// refuse returns the error of a message whose values are absurd.
func (r *rows) refuse(l *Lockstep, i int, limit float32) error {
	var in []algos.Message
	for j := r.first[i]; j < r.first[i+1]; j++ {
		in = append(in, algos.Message{From: topology.Rank(r.from[j]), Payload: r.theirs[j], Limit: limit})
	}
	_, err := r.rules[i].Mix(r.k, 0, in)
	return r.failed(l, i, err)
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
