package link

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gossiptrainer/internal/node/handshake"
	"gossiptrainer/internal/node/socket"
	"gossiptrainer/topology"
)

// An edge is what this worker has with one neighbour, through all the links
// they make and lose. Its run is the only one that begins and ends links, so
// that the goroutines of the last one are over before the next one is told of.
type edge struct {
	neighbour
	dials   bool                 // this end opens the streams
	hears   bool                 // the neighbour is sent messages
	arrived chan *handshake.Talk // streams that the other end has opened and both agreed on
	awake   chan struct{}        // signals that there is a connection
	log     *slog.Logger

	lost, silent, retries atomic.Int64 // see Status

	mu    sync.Mutex
	state state
}

// state is how an edge is, as of its last link.
type state struct {
	link      *link // nil while there is none
	since     time.Time
	ever      bool   // there has been a link
	process   uint64 // number of the process at its other end
	left      bool   // this worker has gone on without it
	last      error  // why there is none
	duplicate handshake.DuplicateTimer
	host      string // name of its machine, "" if unknown

	bannedProcess uint64                  // of the last process that was banned
	banned        *handshake.RefusedError // nil if none was
}

func newEdge(s *shared, rank topology.Rank) *edge {
	id := s.Members.IDs[rank]
	return &edge{
		neighbour: neighbour{shared: s, rank: rank, id: id},
		dials:     s.Host.ID() < id, hears: slices.Contains(s.Row.Out, rank),
		arrived: make(chan *handshake.Talk, 1), awake: make(chan struct{}, 1), state: state{since: time.Now()},
		log: s.Log.With("neighbour", int(rank)),
	}
}

// rouse ends the rest before the next try.
func (e *edge) rouse() {
	select {
	case e.awake <- struct{}{}:
	default:
	}
}

// set enters the link there is now, or nil and why there is none.
func (e *edge) set(k *link, why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &e.state
	s.link, s.last, s.since = k, why, time.Now()
	if k != nil {
		s.ever, s.process = true, k.process
	}
}

func (e *edge) current() *link {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state.link
}

// renewed reports whether theirs is of another process than the last link.
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

// learn notes the name of the neighbour's machine, if it was told.
func (e *edge) learn(host string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if host != "" {
		e.state.host = handshake.Printable(host)
	}
}

// missed notes why no link came about. It reports whether the process at the other end has
// said for long that this one is a duplicate.
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

// isBanned refuses a process that was banned.
func (e *edge) isBanned(theirs handshake.Hello) *handshake.RefusedError {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state.banned == nil || e.state.bannedProcess != theirs.Epoch {
		return nil
	}
	no := *e.state.banned
	return &no
}

// trouble says how the link is, and on which machine its other end is, for people.
func (e *edge) trouble() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := e.state.describe(e.dials)
	if e.state.host != "" {
		return "on " + e.state.host + ": " + text
	}
	return text
}

// describe says how the link is, of which this end dials or not.
func (s *state) describe(dials bool) string {
	ago := time.Since(s.since).Round(time.Second)
	switch {
	case s.link != nil:
		return fmt.Sprintf("link up since %v", ago)
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

// status says how the link is doing.
func (e *edge) status() Status {
	bytes := e.carried()
	return Status{
		Neighbour: int(e.rank), Host: e.machine(), Up: e.current() != nil, Detail: e.trouble(),
		Sent: bytes.Sent, Received: bytes.Received,
		Lost: e.lost.Load(), Silent: e.silent.Load(), Retries: e.retries.Load(),
	}
}
