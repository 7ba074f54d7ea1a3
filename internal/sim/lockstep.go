package sim

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/topology"
)

// Where no frame waits for another one and nothing happens between rounds, the queue has nothing to decide. The end of
// a worker's round follows from when its neighbours began theirs. Such a run goes through its rounds without events.
// Models, times, bytes and records are those of the queue, which the tests compare.
//
//	arrival of j's message   begin_j + latency, or ready_j + latency without overlap
//	ready_i                  begin_i + time of the gradient
//	end of the round         max(ready_i, arrivals of all neighbours), and 2·latency for repairs

// A lockstep is a run that goes through its rounds without events.
type lockstep struct {
	*simulation
	machine *gossip.Lockstep
	overlap bool // messages leave when a round begins
	at      moments
	near    [][]topology.Rank
	g       [][]float32 // by worker without overlap, else by thread
	order   []int       // workers in the order in which they end the round
	lanes   []lane      // by thread
	rows    stacked
}

// stacked is the state of rounds as a stack.
type stacked struct {
	later  *later    // nil: workers enter every round
	losses []float32 // by worker, of the last such round
	rough  int       // rounds that the workers go through themselves before they may be a stack again
}

// moments are those of a round, by worker.
type moments struct {
	begun []time.Duration // when it began
	ends  []time.Duration // when it ends
	takes []time.Duration // the time of the gradient
	same  bool            // all begin and end at one time
	least time.Duration   // of takes
	even  bool            // takes are equal
	known bool            // takes are known for all rounds
}

// later is what workers have not entered yet, where rounds are alike: to reach each worker takes longer than its round.
type later struct {
	rounds int // that have ended
	every  int // rounds from one record to the next
}

// A lane is what one thread has found and counted in a round.
type lane struct {
	of       *lockstep
	err      error
	events   int
	behind   bool // a worker needs repairs
	recorded bool // the round of a worker is on record
	unsure   bool // a worker may need repairs
	last     weighed
	g        algos.Rows // gradients of a stack
}

// A weighed frame is one of some bytes of payload. Most frames are like the last one.
type weighed struct {
	kind    gossip.FrameKind
	payload int
	record.Bytes
}

// plain reports whether a run may be one without events.
func plain(s *simulation) bool {
	o := &s.opt
	return s.script == nil && s.cores == nil && (o.From == nil || o.From.run.Rest) &&
		o.Ending.Time == 0 && o.Ending.Until == nil &&
		o.Costs.Late == 0 && s.steady()
}

// newLockstep returns nil for a run that needs events.
func newLockstep(s *simulation) *lockstep {
	if !plain(s) {
		return nil
	}
	n := len(s.peers)
	l := &lockstep{simulation: s, near: make([][]topology.Rank, n), order: make([]int, n),
		lanes: make([]lane, len(s.threads))}
	l.rows.losses = make([]float32, n)
	l.at = moments{begun: make([]time.Duration, n), ends: make([]time.Duration, n), takes: make([]time.Duration, n)}
	for thread := range l.lanes {
		l.lanes[thread].of = l
	}
	machines := make([]*gossip.Worker, n)
	for i := range s.peers {
		p := &s.peers[i]
		m, ok := p.Machine.(*gossip.Worker)
		if !ok || p.core != gossip.Core(m) || p.Coding.Entropy != entropy.Plain || p.Asynchronous {
			return nil
		}
		machines[i], l.order[i], l.near[i] = m, i, p.Rows.Neighbours()
	}
	if n > 0 {
		l.overlap = gossip.Overlaps(machines[0])
	}
	if from := s.opt.From; from != nil {
		for i := range from.run.workers {
			l.at.begun[i] = from.run.workers[i].Begun
		}
	} else if !l.times(0) {
		return nil
	}
	var ok bool
	if l.machine, ok = gossip.NewLockstep(machines, s.opt.Models); !ok {
		return nil
	}
	if s.peers[0].account == nil {
		l.rows.later = newLater(s.peers)
	}
	l.g = make([][]float32, len(s.threads))
	if !l.overlap {
		l.g = make([][]float32, n)
	}
	return l
}

// times sets the times of round k, apart from repairs. It reports false where the record depends on
// the order of events. The account of a worker names the neighbour whose message came last. Messages that leave after a
// gradient may come before a neighbour has ended the round.
func (l *lockstep) times(k int) bool {
	at := &l.at
	if !at.known {
		at.least, at.even, at.known = horizon, true, l.opt.Steady
		for i := range l.peers {
			at.takes[i] = l.computing(&l.peers[i], k)
			at.even = at.even && at.takes[i] == at.takes[0]
			at.least = min(at.least, at.takes[i])
		}
	}
	at.same = at.even && level(at.begun)
	l.end()
	switch {
	case at.least <= 0:
		return false
	case l.peers[0].account != nil:
		return at.same && l.overlap && l.opt.Network.Uplink.Latency < at.least
	}
	return at.same || l.overlap
}

// level reports whether all times are equal.
func level(times []time.Duration) bool {
	for _, at := range times {
		if at != times[0] {
			return false
		}
	}
	return true
}

// end computes when the workers end the round, apart from repairs.
func (l *lockstep) end() {
	latency := l.opt.Network.Uplink.Latency
	for i := range l.peers {
		if i > 0 && l.at.same && len(l.near[i]) > 0 && len(l.near[0]) > 0 {
			l.at.ends[i] = l.at.ends[0]
			continue
		}
		end := l.at.begun[i] + l.at.takes[i]
		for _, j := range l.near[i] {
			sent := l.at.begun[j]
			if !l.overlap {
				sent += l.at.takes[j]
			}
			end = max(end, sent+latency)
		}
		l.at.ends[i] = end
	}
}

// run goes through the rounds. It reports whether the run is over; otherwise the queue goes on.
func (l *lockstep) run(ctx context.Context) (over bool, err error) {
	l.keeper.start()
	if _, err := l.machine.Stack(); err != nil {
		return false, err
	}
	k, _ := l.machine.Begun()
	l.sends(k, 1)
	return l.rounds(ctx)
}

// sends counts the messages of round k of all workers, which exist when the round begins, a number of times.
func (l *lockstep) sends(k int, times int64) {
	for i := range l.peers {
		if l.overlap {
			l.send(&l.lanes[0], i, k, times)
		}
	}
}

// rounds goes through the rounds that follow.
func (l *lockstep) rounds(ctx context.Context) (over bool, err error) {
	for {
		k, over := l.machine.Begun()
		if over {
			return true, l.enter(k)
		}
		if err := l.rest(k); err != nil {
			return false, err
		}
		if err := l.stopped(ctx); err != nil {
			return false, err
		}
		l.due(k)
		if !l.times(k) {
			return false, l.leave(k)
		}
		if err := l.round(k); err != nil {
			return false, err
		}
	}
}

// due begins the state before the next round if it is due. Workers that are no stack show theirs in this round.
func (l *lockstep) due(k int) {
	if l.keeper.begins(k); l.keeper.Keeping != nil && k > l.keeper.begun {
		l.keeper.begun = k
		l.keeper.collect(l.simulation)
	}
}

// rest takes the state before round k if it is due.
func (l *lockstep) rest(k int) error {
	if l.keeper.at == 0 {
		return nil
	}
	if err := l.enter(k); err != nil {
		return err
	}
	for i := range l.peers {
		if l.keeper.crossed[i].over {
			continue
		}
		if err := l.machine.Show(i, func() { l.keeper.cross(&l.peers[i], k) }); err != nil {
			return err
		}
	}
	l.sends(k, -1) // a run that goes on counts them again
	defer l.sends(k, 1)
	return l.keeper.take(l.simulation, l)
}

// leave lets the queue go on: each worker begins round k when it would have begun it.
func (l *lockstep) leave(k int) error {
	if err := l.enter(k); err != nil {
		return err
	}
	if err := l.machine.Leave(); err != nil {
		return err
	}
	slices.SortStableFunc(l.order, func(i, j int) int { return cmp.Compare(l.at.begun[i], l.at.begun[j]) })
	for _, i := range l.order {
		l.now = l.at.begun[i]
		if l.overlap {
			l.send(&l.lanes[0], i, k, -1) // the queue counts the message once more
		}
		if err := l.act(l.threads[0], &l.peers[i]); err != nil {
			return err
		}
	}
	return nil
}

// round lets all workers go through round k.
func (l *lockstep) round(k int) error {
	stack, err := l.stack(k)
	switch {
	case err != nil:
	case stack != nil:
		least := coordinates
		if l.opt.Together != nil {
			least = ofRows
		}
		err = l.parts(least, func(thread, first, end int) error { return l.pass(stack, thread, first, end, k) })
	default:
		err = l.each(k, func(thread, i int) error { return l.gradient(thread, i, k) })
		if err == nil && !l.overlap {
			err = l.each(k, func(thread, i int) error { return l.mix(thread, i, k) })
		}
	}
	if err != nil {
		return err
	}
	for i := range l.peers {
		if !l.any(func(r *lane) bool { return r.behind }) {
			break
		}
		if err := l.repair(i, k); err != nil {
			return err
		}
	}
	l.events += len(l.peers)
	for thread := range l.lanes {
		l.events += l.lanes[thread].events
	}
	for _, end := range l.at.ends {
		l.now = max(l.now, end)
	}
	l.machine.Over()
	if stack != nil && l.rows.later != nil {
		l.rows.later.rounds++
		l.lanes[0].recorded = l.rows.later.records(k+1, l.peers[0].Rounds)
	}
	if l.opt.Observe != nil && l.any(func(r *lane) bool { return r.recorded }) {
		if err := l.enter(k + 1); err != nil {
			return err
		}
		l.records(k)
	}
	l.at.begun, l.at.ends = l.at.ends, l.at.begun
	for thread := range l.lanes {
		l.lanes[thread] = lane{of: l, last: l.lanes[thread].last, g: l.lanes[thread].g}
	}
	return nil
}

// any reports whether something holds for a lane.
func (l *lockstep) any(holds func(r *lane) bool) bool {
	for thread := range l.lanes {
		if holds(&l.lanes[thread]) {
			return true
		}
	}
	return false
}

// gradient lets a worker take its gradient, and go on as far as the messages allow.
func (l *lockstep) gradient(thread, i, k int) error {
	p := &l.peers[i]
	g := l.take(thread, i, k)
	if p.order.err != nil {
		return p.order.err
	}
	p.ready = l.at.begun[i] + l.at.takes[i]
	if err := l.machine.Gradient(i, g); err != nil {
		return err
	}
	if l.overlap {
		return l.finish(thread, i, k)
	}
	l.send(&l.lanes[thread], i, k, 1)
	return nil
}

// take takes the gradient of a worker.
func (l *lockstep) take(thread, i, k int) []float32 {
	p := &l.peers[i]
	x := p.Machine.Params()
	g := &l.g[thread]
	if !l.overlap {
		g = &l.g[i]
	}
	if len(*g) != len(x) {
		*g = make([]float32, len(x))
	}
	p.order.loss, p.order.err = p.Gradient(*g, k, x)
	return *g
}

// newLater returns nil where workers are not alike.
func newLater(peers []peer) *later {
	for i := range peers {
		if peers[i].Every != peers[0].Every {
			return nil
		}
	}
	return &later{every: peers[0].Every}
}

// records reports whether the end of round k goes on record.
func (r *later) records(k, last int) bool { return r.every > 0 && (k%r.every == 0 || k == last) }

// enter lets the workers enter the rounds up to round k.
func (l *lockstep) enter(k int) error {
	if err := l.machine.Settle(); err != nil {
		return err
	}
	if l.rows.later == nil || l.rows.later.rounds == 0 {
		return nil
	}
	lane, rounds := &l.lanes[0], l.rows.later.rounds
	l.rows.later.rounds = 0
	payload := l.machine.Payload(0, max(0, k-1))
	for i := range l.peers {
		p := &l.peers[i]
		p.round, p.order.loss = k, l.rows.losses[i]
		p.ready = l.at.begun[i] + l.at.takes[i]
		sent := rounds
		if p.ended = k == p.Rounds; p.ended {
			sent--
		}
		for _, j := range l.near[i] {
			lane.count(p, j, gossip.Data, payload, int64(sent))
			got := lane.frame(gossip.Data, payload)
			p.got.Add(record.Bytes{Payload: int64(rounds) * got.Payload, Stream: int64(rounds) * got.Stream,
				Wire: int64(rounds) * got.Wire})
		}
		l.events += rounds * len(l.near[i])
	}
	return nil
}

// mix lets a worker mix that has its gradient.
func (l *lockstep) mix(thread, i, k int) error {
	if err := l.machine.Mix(i); err != nil {
		return err
	}
	return l.finish(thread, i, k)
}

// finish ends round k of a worker, unless it needs repairs.
func (l *lockstep) finish(thread, i, k int) error {
	p, lane := &l.peers[i], &l.lanes[thread]
	if l.machine.Behind(i) {
		lane.behind = true
		return nil
	}
	for _, from := range l.near[i] {
		lane.arrive(p, from, gossip.Data, l.machine.Payload(int(from), k))
	}
	p.round++
	p.ended = p.round == p.Rounds
	if l.overlap && !p.ended {
		l.send(lane, i, k+1, 1)
	}
	lane.recorded = lane.recorded || p.Recorded(p.round)
	if p.account != nil { // all messages were there before the gradient
		p.account.Lack(nil, l.at.ends[i])
		p.account.Finish(record.Spent{Compute: l.at.takes[i], Wait: l.at.ends[i] - p.ready})
	}
	return nil
}

// How many coordinates a thread works on at least. Waking it takes as long as some thousands of one worker after the
// other, and more of rows.
const (
	coordinates = 1 << 14
	ofRows      = 1 << 17
)

// each calls do for all workers in round k, with all threads where that pays. It returns the error of the first worker
// that fails.
func (l *lockstep) each(k int, do func(thread, i int) error) error {
	return l.parts(coordinates, func(thread, first, end int) error {
		for i := first; i < end; i++ {
			if err := do(thread, i); err != nil {
				return &TrainingError{Rank: l.peers[i].Rank, Round: k, Err: err}
			}
		}
		return nil
	})
}

// parts divides all workers among the threads, each with a least number of coordinates. One thread shows their states.
func (l *lockstep) parts(least int, do func(thread, first, end int) error) error {
	n, threads := len(l.peers), len(l.threads)
	if l.keeper.at > 0 || n*len(l.peers[0].Machine.Params()) < least*threads {
		threads = 1
	}
	part := func(thread int) {
		l.lanes[thread].err = do(thread, n*thread/threads, n*(thread+1)/threads)
	}
	var others sync.WaitGroup
	for thread := 1; thread < threads; thread++ {
		others.Go(func() { part(thread) })
	}
	part(0)
	others.Wait()
	for thread := range l.lanes {
		if err := l.lanes[thread].err; err != nil {
			return err
		}
	}
	return nil
}

// repair lets a worker that has recovered messages wrongly have their repairs, and ends its round k.
func (l *lockstep) repair(i, k int) error {
	if !l.machine.Behind(i) {
		return nil
	}
	p, lane := &l.peers[i], &l.lanes[0]
	var asked []topology.Rank
	frame := func(from, to *peer, kind gossip.FrameKind, bytes int) {
		lane.count(from, to.Rank, kind, bytes, 1)
		lane.arrive(to, from.Rank, kind, bytes)
	}
	err := l.machine.Repair(i, func(from topology.Rank, request, repair int) {
		asked = append(asked, from)
		frame(p, &l.peers[from], gossip.Request, request)
		frame(&l.peers[from], p, gossip.Repair, repair)
	})
	if err != nil {
		return &TrainingError{Rank: p.Rank, Round: p.round, Err: err}
	}
	p.account.Lack(asked, l.at.ends[i])
	for _, from := range asked {
		p.account.Came(from, l.at.ends[i])
	}
	l.at.ends[i] += 2 * l.opt.Network.Uplink.Latency
	l.at.same = l.at.same && l.opt.Network.Uplink.Latency == 0
	return l.finish(0, i, k)
}

// send counts the message of round k of a worker a number of times.
func (l *lockstep) send(r *lane, i, k int, times int64) {
	bytes := l.machine.Payload(i, k)
	for _, to := range l.near[i] {
		r.count(&l.peers[i], to, gossip.Data, bytes, times)
	}
}

// count counts a frame that a worker sends a number of times.
func (r *lane) count(p *peer, to topology.Rank, kind gossip.FrameKind, payload int, times int64) {
	one := r.frame(kind, payload)
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
func (r *lane) arrive(p *peer, from topology.Rank, kind gossip.FrameKind, payload int) {
	got := r.frame(kind, payload)
	p.got.Add(got)
	if p.account != nil {
		p.account.Link(from).Received.Add(got)
	}
	r.events++
}

// frame returns the bytes of a frame.
func (r *lane) frame(kind gossip.FrameKind, payload int) record.Bytes {
	if last := &r.last; last.Stream > 0 && last.kind == kind && last.payload == payload {
		return last.Bytes
	}
	stream := StreamBytes(payload)
	r.last = weighed{kind, payload, record.Bytes{
		Stream: int64(stream), Wire: int64(WireBytes(stream, r.of.opt.Network.Uplink)),
	}}
	if kind == gossip.Data {
		r.last.Payload = int64(payload)
	}
	return r.last.Bytes
}

// records records the steps of round k in the order of time.
func (l *lockstep) records(k int) {
	end := l.now
	if !l.at.same {
		slices.SortStableFunc(l.order, func(i, j int) int { return cmp.Compare(l.at.ends[i], l.at.ends[j]) })
	}
	for _, i := range l.order {
		p := &l.peers[i]
		l.now = l.at.ends[i]
		known := p.got
		for _, j := range l.near[i] { // that have begun the next round so early that their messages are there
			if !l.at.same && !p.ended && l.at.ends[j]+l.opt.Network.Uplink.Latency < l.now {
				p.got.Add(l.lanes[0].frame(gossip.Data, l.machine.Payload(int(j), k+1)))
			}
		}
		l.record(l.threads[0], p)
		p.got = known
	}
	l.now = end
}
