package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/node/handshake"
	"gossiptrainer/internal/node/socket"
	"gossiptrainer/internal/record"
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
// closing may put next to this one, nearest first, until one gives a place. It returns where to begin
// and with which state. closing is nil where the run takes no worker back: in other graphs, and
// without rounds. Call it after Run has ended with ErrLeftBehind; meanwhile it answers the arbiter,
// nil for none. It fails with a *NetworkError if no worker will ever give a place.
func (n *Node) ComeBack(ctx context.Context, closing *topology.Closing, a Arbiter) (Place, *state.Snapshot, error) {
	if closing == nil {
		return Place{}, nil, leftBehind(&handshake.UnwantedError{
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
			g, s, err := n.ask(ctx, rank)
			if err == nil {
				n.log.Warn("taken back into the run", "neighbour", int(rank), "round", g.Round)
				return g, s, nil
			}
			n.log.Debug("no place", "neighbour", int(rank), "err", err)
			no, refused := errors.AsType[*RefusedError](err)
			if _, unproven := errors.AsType[*UnprovenError](err); refused || unproven {
				last = fmt.Errorf("worker %d: %w", rank, err)
			}
			if refused && no.Reason == NotReady {
				hopeless = 0
			}
		}
	}
	return Place{}, nil, leftBehind(fmt.Errorf("no worker gave it a place: %w", errors.Join(last, context.Cause(ctx))))
}

// ask asks one worker for a place.
func (n *Node) ask(ctx context.Context, rank topology.Rank) (Place, *state.Snapshot, error) {
	s, err := n.host.Open(ctx, n.roster.IDs[rank], joinProtocol)
	if err != nil {
		return Place{}, nil, err
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
		return Place{}, nil, err
	}
	return take(t, rank, n.opts.Dim)
}

// stateOf bounds the bytes of the state of a model of dim parameters.
func stateOf(dim int) int64 { return 64*int64(dim) + 1<<20 }

// take receives the place and the state that give sends.
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
		return Place{}, nil, fmt.Errorf("state of worker %d: %w", sponsor, err)
	}
	at := Place{Sponsor: sponsor, Round: int(round), Exchange: int(exchange), Process: t.Theirs.Epoch}
	return at, s, t.Say(handshake.AboutYes, nil)
}
