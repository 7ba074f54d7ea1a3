package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/record"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

// betweenAsks is how long a returning worker waits before it asks all others again.
const betweenAsks = 300 * time.Millisecond

// mostRefusals is how often in a row all others may be gone, or refuse for good, before a returning
// worker gives up.
const mostRefusals = 5

// withoutIt says what to do with a worker that its run cannot take back.
const withoutIt = "the others finish without it, and nothing on this machine changes that; for the next run, " +
	"faults.on_lost_neighbor: wait keeps the place of a lost worker on every graph"

// ComeBack asks for a place in a run that has gone on without this worker. It asks the workers that
// closing may put next to this one, nearest first, until one gives a place and a state with which
// begin can begin. A state that begin refuses is as good as none: the next worker is asked. A run that
// takes no worker back, on other graphs or without rounds, has no closing. Call it after Run has ended
// with ErrLeftBehind; meanwhile it answers the arbiter, nil for none. It fails with a *NetworkError if
// no worker will ever give a place.
func (n *Node) ComeBack(
	ctx context.Context, closing *topology.Closing, a Arbiter, begin func(Place, *state.Snapshot) error,
) (Place, error) {
	if closing == nil {
		return Place{}, leftBehind(&handshake.UnwantedError{
			Detail: "only a synchronous run on a ring takes a lost worker back", Advice: withoutIt})
	}
	defer idle(a)()
	n.mu.Lock()
	n.me.Epoch = randomEpoch() // to the others it is not the process that they have left behind
	n.mu.Unlock()
	n.observe(record.Event{Status: &record.Status{Rank: n.me.Rank, State: record.Joining,
		Detail: "asking for a place in the run that goes on"}})
	var last error
	for hopeless := 0; hopeless < mostRefusals && ctx.Err() == nil; socket.Sleep(ctx, betweenAsks) {
		hopeless++
		for _, rank := range closing.Nearest() {
			g, err := n.ask(ctx, rank, begin)
			if err == nil {
				n.log.Warn("taken back into the run", "neighbour", int(rank), "round", g.Round)
				return g, nil
			}
			n.log.Debug("no place", "neighbour", int(rank), "err", err)
			no, refused := errors.AsType[*RefusedError](err)
			_, unproven := errors.AsType[*UnprovenError](err)
			_, unusable := errors.AsType[*stateError](err)
			if unusable {
				n.log.Warn("a neighbour gave a state with which this worker cannot begin", "neighbour", int(rank), "err", err)
			}
			if refused || unproven || unusable {
				last = fmt.Errorf("worker %d: %w", rank, err)
			}
			if refused && no.Reason == NotReady {
				hopeless = 0
			}
		}
	}
	return Place{}, leftBehind(fmt.Errorf("no worker gave it a place: %w", errors.Join(last, context.Cause(ctx))))
}

// A stateError says why a worker cannot begin with the state that another one gave it.
type stateError struct{ why error }

func (e *stateError) Error() string { return "the state that it gave is unusable: " + e.why.Error() }
func (e *stateError) Unwrap() error { return e.why }

// ask asks one worker for a place, and takes it if begin can begin there.
func (n *Node) ask(ctx context.Context, rank topology.Rank, begin func(Place, *state.Snapshot) error) (Place, error) {
	s, err := n.host.Open(ctx, n.roster.IDs[rank], joinProtocol)
	if err != nil {
		return Place{}, err
	}
	defer s.Close()
	t := handshake.New(s)
	err = t.Greet(&n.admission, n.me, func(theirs handshake.Hello) *RefusedError {
		if no := n.me.CompareShape(theirs); no != nil {
			return no
		}
		return n.me.CompareRoster(theirs, rank)
	})
	if err != nil {
		return Place{}, err
	}
	g, state, err := take(t, rank, n.opts.Dim)
	if err != nil {
		return Place{}, err
	}
	if err := begin(g, state); err != nil {
		_ = t.Refuse(handshake.Refusal(Protocol, "unusable state: %v", err)) // the sponsor takes the place back
		return Place{}, &stateError{err}
	}
	return g, t.Say(handshake.AboutYes, nil)
}

// stateOf bounds the bytes of the state of a model of dim parameters.
func stateOf(dim int) int64 { return 64*int64(dim) + 1<<20 }

// take receives the place and the state that give sends. The sponsor then waits for the answer of the caller.
func take(t *handshake.Talk, sponsor topology.Rank, dim int) (Place, *state.Snapshot, error) {
	t.Stream.SetDeadline(time.Now().Add(joinTime))
	head, err := t.Expect(handshake.AboutPlace, 24)
	if err != nil {
		return Place{}, nil, err
	}
	if len(head) != 24 {
		return Place{}, nil, t.Refuse(handshake.Refusal(Protocol, "malformed place"))
	}
	round, exchange := binary.LittleEndian.Uint64(head), binary.LittleEndian.Uint64(head[8:])
	size := binary.LittleEndian.Uint64(head[16:])
	if round > 1<<32 || exchange > round || size > uint64(stateOf(dim)) {
		return Place{}, nil, t.Refuse(handshake.Refusal(Protocol, "place at round %d, exchange %d with a state of %d bytes",
			round, exchange, size))
	}
	s, err := checkpoint.Decode(t.In, int64(size))
	if err != nil {
		return Place{}, nil, &stateError{err}
	}
	return Place{Sponsor: sponsor, Round: int(round), Exchange: int(exchange), Process: t.Theirs.Epoch}, s, nil
}
