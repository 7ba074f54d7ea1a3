package sim

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/topology"
)

// Where no frame waits for another one and nothing happens between rounds, the queue has nothing to decide: when a
// worker ends a round follows from when its neighbours began it. Such a run goes through its rounds without events.
// Models, times, bytes and records are those of the queue, which the tests compare. When a state of the run is due, the
// queue takes over, see lockstep.leave.
//
//	arrival of j's message   begin_j + latency, or ready_j + latency without overlap
//	ready_i                  begin_i + time of the gradient
//	end of the round         max(ready_i, arrivals of all neighbours), and 2·latency for repairs

// A lockstep is a run that goes through its rounds without events.
type lockstep struct {
	*simulation
	machine *gossip.Lockstep
	begun   []time.Duration   // by worker: when it began the round
	ends    []time.Duration   // by worker: when it ends the round
	takes   []time.Duration   // by worker: the time of its gradient
	near    [][]topology.Rank // by worker
	sizes   []int             // by worker: bytes of the payload of its last message
	last    weighed
	g       [][]float32 // by worker without overlap, else by thread
	order   []int       // workers in the order in which they end the round
	errs    []error     // by thread
}

// plain reports whether a run may be one without events.
func (s *simulation) plain() bool {
	o := &s.opt
	return s.script == nil && s.cores == nil && o.From == nil && o.Ending.Time == 0 && o.Ending.Until == nil &&
		o.Costs.Late == 0 && s.steady()
}

// newLockstep returns nil for a run that needs events.
func (s *simulation) newLockstep() *lockstep {
	if !s.plain() {
		return nil
	}
	n := len(s.peers)
	l := &lockstep{simulation: s, begun: make([]time.Duration, n), ends: make([]time.Duration, n),
		takes: make([]time.Duration, n), near: make([][]topology.Rank, n), order: make([]int, n), sizes: make([]int, n),
		errs: make([]error, len(s.threads))}
	machines := make([]*gossip.Worker, n)
	for i := range s.peers {
		p := &s.peers[i]
		m, ok := p.Machine.(*gossip.Worker)
		if !ok || p.core != gossip.Core(m) || p.Entropy != entropy.Plain || p.Asynchronous {
			return nil
		}
		machines[i], l.order[i], l.near[i] = m, i, p.Rows.Neighbours()
	}
	if !l.times(0) {
		return nil
	}
	var ok bool
	if l.machine, ok = gossip.NewLockstep(machines); !ok {
		return nil
	}
	l.g = make([][]float32, len(s.threads))
	if !l.machine.Overlap() {
		l.g = make([][]float32, n)
	}
	return l
}

// times sets the times of the gradients of round k. It reports false where the order of events decides what is on
// record: the account of a worker names the neighbour whose message came last, and messages that leave after a gradient
// may come before a neighbour has ended the round.
func (l *lockstep) times(k int) bool {
	same, least := true, horizon
	for i := range l.peers {
		l.takes[i] = l.computing(&l.peers[i], k)
		same = same && l.takes[i] == l.takes[0] && l.begun[i] == l.begun[0]
		least = min(least, l.takes[i])
	}
	p, latency := &l.peers[0], l.opt.Network.Uplink.Latency
	switch overlap := l.machine == nil || l.machine.Overlap(); {
	case least <= 0:
		return false
	case p.account != nil:
		return same && overlap && latency < least
	case !overlap:
		return same
	}
	return true
}

// run goes through the rounds. It reports whether the run is over; otherwise the queue goes on.
func (l *lockstep) run(ctx context.Context) (over bool, err error) {
	l.keeper.start()
	if l.machine.Overlap() {
		l.send()
	}
	for {
		k, over := l.machine.Begun()
		if over {
			return true, nil
		}
		if err := l.stopped(ctx); err != nil {
			return false, err
		}
		if l.due(k) || !l.times(k) {
			return false, l.leave()
		}
		if err := l.round(k); err != nil {
			return false, err
		}
	}
}

// due reports whether the state after round k is to be taken.
func (l *lockstep) due(k int) bool {
	l.keeper.begins(k)
	return l.keeper.keep(l.simulation) == nil && l.keeper.at > 0
}

// leave lets the queue go on: each worker begins its round when it would have begun it.
func (l *lockstep) leave() error {
	l.machine.Leave()
	slices.SortStableFunc(l.order, func(i, j int) int { return cmp.Compare(l.begun[i], l.begun[j]) })
	for _, i := range l.order {
		p := &l.peers[i]
		l.now = l.begun[i]
		for _, to := range l.near[i] { // the queue counts the message once more
			if l.machine.Overlap() {
				l.count(p, to, gossip.Data, l.sizes[i], -1)
			}
		}
		if err := l.act(l.threads[0], p); err != nil {
			return err
		}
	}
	return nil
}

// round lets all workers go through round k.
func (l *lockstep) round(k int) error {
	if err := l.each(func(thread, i int) error { return l.gradient(thread, i, k) }); err != nil {
		return err
	}
	if !l.machine.Overlap() {
		l.send()
		if err := l.each(func(_, i int) error { return l.machine.Mix(i) }); err != nil {
			return err
		}
	}
	l.end()
	for i := range l.peers {
		if err := l.repair(i); err != nil {
			return err
		}
	}
	l.events += len(l.peers)
	l.receive()
	if _, over := l.machine.Begun(); l.machine.Overlap() && !over {
		l.send()
	}
	l.records()
	l.begun, l.ends = l.ends, l.begun
	return nil
}

// gradient lets a worker take its gradient, and go on as far as the messages allow.
func (l *lockstep) gradient(thread, i, k int) error {
	p := &l.peers[i]
	x := p.Machine.Params()
	g := &l.g[thread]
	if !l.machine.Overlap() {
		g = &l.g[i]
	}
	if len(*g) != len(x) {
		*g = make([]float32, len(x))
	}
	if p.order.loss, p.order.err = p.Gradient(*g, k, x); p.order.err != nil {
		return p.order.err
	}
	return l.machine.Gradient(i, *g)
}

// coordinates is how many coordinates a thread works on at least. Waking it takes as long as some thousands.
const coordinates = 1 << 14

// each calls do for all workers, with all threads where that pays. It returns the error of the first worker that fails.
func (l *lockstep) each(do func(thread, i int) error) error {
	n, threads := len(l.peers), len(l.threads)
	if n*len(l.peers[0].Machine.Params()) < coordinates*threads {
		threads = 1
	}
	part := func(thread int) {
		for i := n * thread / threads; i < n*(thread+1)/threads; i++ {
			if err := do(thread, i); err != nil {
				p := &l.peers[i]
				l.errs[thread] = &TrainingError{Rank: p.Rank, Round: p.round, Err: err}
				return
			}
		}
	}
	var others sync.WaitGroup
	for thread := 1; thread < threads; thread++ {
		others.Go(func() { part(thread) })
	}
	part(0)
	others.Wait()
	return cmp.Or(l.errs...)
}

// end computes when the workers end the round, apart from repairs.
func (l *lockstep) end() {
	latency := l.opt.Network.Uplink.Latency
	for i := range l.peers {
		p := &l.peers[i]
		p.ready = l.begun[i] + l.takes[i]
		end := p.ready
		for _, j := range l.near[i] {
			sent := l.begun[j]
			if !l.machine.Overlap() {
				sent += l.takes[j]
			}
			end = max(end, sent+latency)
		}
		l.ends[i] = end
	}
}

// repair lets a worker that has recovered messages wrongly have their repairs.
func (l *lockstep) repair(i int) error {
	if !l.machine.Behind(i) {
		return nil
	}
	p := &l.peers[i]
	var asked []topology.Rank
	frame := func(from, to *peer, kind gossip.FrameKind, bytes int) {
		l.count(from, to.Rank, kind, bytes, 1)
		l.arrive(from, to, kind, bytes)
	}
	err := l.machine.Repair(i, func(from topology.Rank, request, repair int) {
		asked = append(asked, from)
		frame(p, &l.peers[from], gossip.Request, request)
		frame(&l.peers[from], p, gossip.Repair, repair)
	})
	if err != nil {
		return &TrainingError{Rank: p.Rank, Round: p.round, Err: err}
	}
	p.account.Lack(asked, l.ends[i])
	for _, from := range asked {
		p.account.Came(from, l.ends[i])
	}
	l.ends[i] += 2 * l.opt.Network.Uplink.Latency
	return nil
}

// send counts the messages that the workers have made.
func (l *lockstep) send() {
	for i := range l.peers {
		l.sizes[i] = l.machine.Payload(i)
		for _, to := range l.near[i] {
			l.count(&l.peers[i], to, gossip.Data, l.sizes[i], 1)
		}
	}
}

// receive counts the messages of the round at their receivers.
func (l *lockstep) receive() {
	for i := range l.peers {
		for _, from := range l.near[i] {
			l.arrive(&l.peers[from], &l.peers[i], gossip.Data, l.sizes[from])
		}
	}
}

// count counts a frame that a worker sends, so many times.
func (l *lockstep) count(p *peer, to topology.Rank, kind gossip.FrameKind, payload int, times int64) {
	one := l.frame(kind, payload)
	sent := record.Bytes{Payload: times * one.Payload, Stream: times * one.Stream, Wire: times * one.Wire}
	p.sent.Add(sent)
	if p.account != nil {
		p.account.Link(to).Sent.Add(sent)
	}
	if kind == gossip.Data && payload > 0 {
		p.messages.Add(record.Messages{Count: times, Stream: sent.Stream})
	}
}

// arrive counts a frame at its receiver, and as an event.
func (l *lockstep) arrive(from, p *peer, kind gossip.FrameKind, payload int) {
	got := l.frame(kind, payload)
	p.got.Add(got)
	if p.account != nil {
		p.account.Link(from.Rank).Received.Add(got)
	}
	l.events++
}

// A weighed frame is one of some bytes of payload. Most frames are like the last one.
type weighed struct {
	kind    gossip.FrameKind
	payload int
	record.Bytes
}

// frame returns the bytes of a frame.
func (l *lockstep) frame(kind gossip.FrameKind, payload int) record.Bytes {
	if last := &l.last; last.Stream > 0 && last.kind == kind && last.payload == payload {
		return last.Bytes
	}
	stream := StreamBytes(payload)
	l.last = weighed{kind, payload, record.Bytes{
		Stream: int64(stream), Wire: int64(WireBytes(stream, l.opt.Network.Uplink)),
	}}
	if kind == gossip.Data {
		l.last.Payload = int64(payload)
	}
	return l.last.Bytes
}

// records ends the round of all workers: it notes times and accounts, and records steps in the order of time.
func (l *lockstep) records() {
	same, recorded := true, false
	for i := range l.peers {
		p := &l.peers[i]
		p.round++
		p.ended = p.round == p.Rounds
		same = same && l.ends[i] == l.ends[0]
		recorded = recorded || p.Recorded(p.round)
		l.now = max(l.now, l.ends[i])
		if p.account != nil {
			l.waited(i)
		}
	}
	if !recorded || l.opt.Observe == nil {
		return
	}
	end := l.now
	if !same {
		slices.SortStableFunc(l.order, func(i, j int) int { return cmp.Compare(l.ends[i], l.ends[j]) })
	}
	for _, i := range l.order {
		p := &l.peers[i]
		l.now = l.ends[i]
		known := p.got
		for _, j := range l.near[i] { // that have begun the next round so early that their messages are there
			if !p.ended && l.ends[j]+l.opt.Network.Uplink.Latency < l.now {
				p.got.Add(l.frame(gossip.Data, l.sizes[j]))
			}
		}
		l.record(l.threads[0], p)
		p.got = known
	}
	l.now = end
}

// waited ends a round in the account of a worker. All messages are there before its gradient.
func (l *lockstep) waited(i int) {
	p := &l.peers[i]
	p.account.Lack(nil, l.ends[i])
	p.account.Finish(record.Spent{Compute: l.takes[i], Wait: l.ends[i] - p.ready})
}
