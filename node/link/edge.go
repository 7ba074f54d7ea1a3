package link

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

// An edge connects this worker to one neighbour, over all the links that they make and lose. Only its
// method run starts and ends links, so the goroutines of a link end before the next link is reported.
type edge struct {
	neighbour
	dials   bool                 // this end opens the streams
	hears   bool                 // the neighbour receives messages
	arrived chan *handshake.Talk // agreed streams that the other end has opened
	awake   chan struct{}        // signals a new connection
	sought  chan struct{}        // signals that the edge needs a link
	ways    ways
	log     *slog.Logger

	lost, silent, retries atomic.Int64 // see Status

	mu    sync.Mutex
	state state
}

// state is the state of an edge since its last link.
type state struct {
	link      *link // nil without a link
	since     time.Time
	ever      bool   // there has been a link
	process   uint64 // number of the process at its other end
	demand    demand // who needs a link
	left      bool   // this worker has gone on without the neighbour
	last      error  // why there is no link
	duplicate handshake.DuplicateTimer
	host      string // name of its machine, "" if unknown

	changed chan struct{} // closed when there is another link, or none
	over    bool          // the neighbour has left

	bannedProcess uint64                  // number of the last banned process
	banned        *handshake.RefusedError // nil without one
}

func newEdge(s *shared, rank topology.Rank) *edge {
	id := s.Members.IDs[rank]
	return &edge{
		neighbour: neighbour{shared: s, rank: rank, id: id, turn: newTurn()},
		dials:     s.Host.ID() < id,
		hears:     s.Rows.Period() != 1 || slices.Contains(s.Rows.At(0).Out, rank),
		arrived:   make(chan *handshake.Talk, 1), awake: make(chan struct{}, 1), sought: make(chan struct{}, 1),
		state: state{since: time.Now(), demand: demand{worker: s.Rest == nil}, changed: make(chan struct{})},
		log:   s.Log.With("neighbour", int(rank)),
	}
}

// rouse ends the wait before the next attempt.
func (e *edge) rouse() {
	select {
	case e.awake <- struct{}{}:
	default:
	}
}

// set enters the current link, or nil and the reason.
func (e *edge) set(k *link, why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &e.state
	s.link, s.last, s.since = k, why, time.Now()
	close(s.changed)
	s.changed = make(chan struct{})
	if k != nil {
		s.ever, s.process = true, k.process
		s.demand.met(k)
	}
}

func (e *edge) current() *link {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state.link
}

// part notes that the neighbour has left.
func (e *edge) part() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state.over = true
}

// link waits for a link, and returns it; nil: the edge rests or is over, or ctx has ended.
func (e *edge) link(ctx context.Context) *link {
	for {
		e.mu.Lock()
		s := e.state
		e.mu.Unlock()
		if s.link != nil || s.over || !s.demand.any() {
			return s.link
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return nil
		case <-e.ctx.Done():
			return nil
		}
	}
}

// renewed reports whether theirs is from another process than the last link.
func (e *edge) renewed(theirs handshake.Hello) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state.ever && e.state.process != theirs.Epoch
}

// machine returns the name of the neighbour's machine, "" if it is unknown.
func (e *edge) machine() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state.host
}

// learn notes the name of the neighbour's machine, if there is one.
func (e *edge) learn(host string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if host != "" {
		e.state.host = handshake.Printable(host)
	}
}

// missed notes why there is no link. It reports whether the other end has long called this process a
// duplicate.
func (e *edge) missed(err error) (duplicate bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state.last = err
	return e.state.duplicate.Sure(err, e.Detect)
}

// leave refuses the neighbour from now on: this worker has gone on without it.
func (e *edge) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state.left = true
}

// takeBack ends leave: the neighbour is another process.
func (e *edge) takeBack() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state.left = false
}

// gone reports whether this worker has gone on without the neighbour.
func (e *edge) gone() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state.left
}

// ban refuses the process at the other end from now on.
func (e *edge) ban(why *handshake.RefusedError) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state.bannedProcess, e.state.banned = e.state.process, why
}

// isBanned returns the refusal of a banned process, nil for others.
func (e *edge) isBanned(theirs handshake.Hello) *handshake.RefusedError {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state.banned == nil || e.state.bannedProcess != theirs.Epoch {
		return nil
	}
	no := *e.state.banned
	return &no
}

// trouble describes the link and names the machine of its other end, for users.
func (e *edge) trouble() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := e.state.describe(e.dials)
	if e.state.host != "" {
		return "on " + e.state.host + ": " + text
	}
	return text
}

// describe describes the link; dials says whether this end dials.
func (s *state) describe(dials bool) string {
	ago := time.Since(s.since).Round(time.Second)
	switch {
	case s.link != nil:
		return fmt.Sprintf("link up since %v", ago)
	case !s.demand.any():
		return "no link is needed now"
	case s.last == nil && !dials:
		return fmt.Sprintf("has not called in %v", ago)
	case s.last == nil:
		return "being called"
	case !s.ever:
		return fmt.Sprintf("not reached in %v: %s", ago, socket.Cause(s.last))
	default:
		return fmt.Sprintf("link down for %v: %s", ago, socket.Cause(s.last))
	}
}

// status returns a snapshot of the link.
func (e *edge) status() Status {
	bytes := e.carried()
	return Status{
		Neighbour: int(e.rank), Host: e.machine(), Up: e.current() != nil, Resting: e.rests(), Detail: e.trouble(),
		Sent: bytes.Sent, Received: bytes.Received,
		Lost: e.lost.Load(), Silent: e.silent.Load(), Retries: e.retries.Load(), Path: e.path(),
	}
}
