package sim

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/topology"
)

// A run that was killed goes on from the state of the whole simulation. Machines show their state at the boundary of a
// round alone, and workers reach that boundary at different times. So the state of a run has two parts for each worker.
// One is its state at the boundary. The other is its inputs from there until the last worker has reached the boundary,
// in the order of virtual time. A machine is deterministic: with the same inputs it is again where it was. Links, queue
// and clock are those of the moment at which the last worker reached the boundary.
//
// The boundary of workers that share rounds is that before a round that no worker had begun. That of an asynchronous
// worker is its next one, and its state has its open exchanges.

// The states of workers are given away one at a time, because all of them together may be larger than the run.

// A Keeping says when the state of a run is taken, and takes it.
type Keeping struct {
	// Due reports whether the state before the next round is to be taken. It is asked when the first worker begins a
	// round.
	Due func(round int) bool
	// Begin begins the state before a round.
	Begin func(round int) Draft
}

// A Draft is a state of the run that is being taken.
type Draft interface {
	// Put takes a part of the state of a worker. It keeps nothing of s.
	Put(rank int, s *state.Snapshot)
	// Take takes the rest of the state. It keeps nothing of s, and an error ends the run.
	Take(at Boundary, s *state.Snapshot) error
	// Drop ends a draft in place of Take.
	Drop()
}

// A Boundary is the place of a state of the run.
type Boundary struct {
	// Round is the round after the largest that a worker had begun. It names the state.
	Round int `json:"round"`
	// Began are the rounds that the workers begin, by rank: all that one, or their own if they share no rounds.
	Began []int `json:"began"`
}

// A keeper takes the state of a run.
//
//	at = 0    no state is being taken              a state is due                     at = the round after the largest
//	at > 0    workers show their states            the last worker has reached it     at = 0
type keeper struct {
	*Keeping // nil: the run keeps no state
	sim      *simulation
	faults   *keptFaults  // nil: no faults
	latest   atomic.Int64 // largest round that a worker has begun
	begun    int          // the same, as of the last batch
	at       int
	draft    Draft          // of the state before that round
	shown    state.Snapshot // of a worker, to be put into the draft
	crossed  []crossing     // by worker; nil before a state is taken
	left     int            // workers that have not reached the round
	past     []input
}

// keptFaults are what the keeper needs to know of a run with faults.
type keptFaults struct {
	rests  func() bool         // no process or link is about to change
	behind func() bool         // a worker has no process, or repeats rounds
	save   func() *savedFaults // of a run at rest, without its processes
}

// A crossing is the state of a worker at the boundary.
type crossing struct {
	over  bool          // the worker has reached the boundary
	round int           // that the worker begins there
	clock time.Duration // of its machine, see peer.origin
}

// An input is a call of a machine after its boundary.
type input struct {
	worker topology.Rank
	at     time.Duration
	call   gossip.Call
}

// watch lets the keeper see the boundaries of all workers. Under a script, a process does so when it begins.
func (k *keeper) watch(s *simulation) {
	k.sim, k.Keeping = s, s.opt.Keep
	if k.Keeping == nil {
		return
	}
	for i := range s.peers {
		if p := &s.peers[i]; k.faults == nil {
			p.core.AtBoundary(func(round int) { k.cross(p, round) })
		}
	}
}

// unwatch lets the workers forget the simulation, which is over.
func (k *keeper) unwatch() {
	k.drop()
	for i := range k.sim.peers {
		k.sim.peers[i].core.AtBoundary(nil)
	}
}

// start begins to ask for states, with the run at its beginning or where it goes on.
func (k *keeper) start() {
	for i := range k.sim.peers {
		k.begins(k.sim.peers[i].round)
	}
	k.begun = int(k.latest.Load())
}

// begins notes that a worker begins a round. Threads may call it side by side.
func (k *keeper) begins(round int) {
	for {
		latest := k.latest.Load()
		if int64(round) <= latest || k.latest.CompareAndSwap(latest, int64(round)) {
			return
		}
	}
}

// keep goes on with the state after a batch: it takes the state, or finds that one is due.
func (k *keeper) keep(s *simulation) error {
	switch latest := int(k.latest.Load()); {
	case k.Keeping == nil:
	case k.at > 0:
		return k.finish(s)
	case latest > k.begun:
		k.begun = latest
		k.collect(s)
	}
	return nil
}

// collect begins to take the state if one is due. No message of the next round exists, because no worker has begun it.
func (k *keeper) collect(s *simulation) {
	last := k.begun+1 >= s.peers[0].Rounds && !s.peers[0].Asynchronous
	if s.opt.Ending.due || last || k.faults != nil && k.faults.behind() || !k.Due(k.begun) {
		return
	}
	if k.crossed == nil {
		k.crossed = make([]crossing, len(s.peers))
	}
	k.at, k.left, k.past = k.begun+1, len(k.crossed), k.past[:0]
	k.draft = k.Begin(k.at)
	for i := range k.crossed {
		k.crossed[i].over = false
	}
}

// cross takes the state of a worker at the boundary.
func (k *keeper) cross(p *peer, round int) {
	if k.at == 0 { // also where the run keeps no state
		return
	}
	c := &k.crossed[p.Rank]
	if c.over || round != k.at && !p.Asynchronous {
		return
	}
	p.Save(&k.shown)
	if m, ok := p.Machine.(gossip.Exchanger); ok {
		k.shown.Save(gossip.Exchanges, m.Exchanges())
	}
	k.draft.Put(int(p.Rank), &k.shown)
	c.over, c.round, c.clock = true, round, p.ready
	k.left--
}

// sees notes a call of a machine that belongs to the rounds after the boundary. A frame of such a round may come before
// its receiver has reached the boundary. Others reuse the memory of a frame.
func (k *keeper) sees(p *peer, c gossip.Call) {
	if k.at == 0 {
		return
	}
	early := c.Kind == gossip.ReceiveCall && c.Frame.Round >= k.at && !p.Asynchronous
	if !k.crossed[p.Rank].over && !early {
		return
	}
	c.Frame.Payload = slices.Clone(c.Frame.Payload)
	k.past = append(k.past, input{worker: p.Rank, at: k.sim.now, call: c})
}

// tape notes the calls of a machine inside layers, nil if the run keeps no state.
func (k *keeper) tape(p *peer) gossip.CallLog {
	if k.Keeping == nil {
		return nil
	}
	return func(c gossip.Call) { k.sees(p, c) }
}

// abandon takes no state now, because a process ends or begins. The next one is due as soon as it may be.
func (k *keeper) abandon() {
	k.drop()
	k.begun, k.past = int(k.latest.Load()), k.past[:0]
}

// drop ends the state that is being taken, if there is one.
func (k *keeper) drop() {
	if k.at > 0 {
		k.at = 0
		k.draft.Drop()
	}
}

// finish takes the state of the run if all workers have reached the boundary. A run whose end is due takes none.
func (k *keeper) finish(s *simulation) error {
	if k.left > 0 || k.faults != nil && !k.faults.rests() {
		return nil
	}
	if s.opt.Ending.due {
		k.abandon()
		return nil
	}
	return k.take(s, nil)
}

// take takes the state of the run, which all workers have shown. rest is the run at rest before the round, nil for one
// with events.
func (k *keeper) take(s *simulation, rest *lockstep) error {
	place := Boundary{Round: k.at}
	for i := range k.crossed {
		place.Began = append(place.Began, k.crossed[i].round)
	}
	whole, err := s.save(place, rest)
	if err == nil {
		k.at = 0
		err = k.draft.Take(place, whole)
	}
	k.drop()
	k.begun, k.past = int(k.latest.Load()), k.past[:0]
	if err != nil {
		return fmt.Errorf("sim: the state before round %d: %w", place.Round, err)
	}
	return nil
}
