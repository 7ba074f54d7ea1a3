package node

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"

	"gossiptrainer/gossip/elastic"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/link"
)

// joinProtocol brings a lost worker back under Reweight. The worker asks one that may be next to it
// for its state at the beginning of an exchange. From that exchange on the two have an edge.
const joinProtocol protocol.ID = "/gossiptrainer/join/1.0.0"

// joinTime bounds the transfer of a state.
const joinTime = time.Minute

// A reception answers returning workers and passes their requests to the driver.
type reception struct {
	node     *Node
	links    *link.Links
	requests chan candidate
}

// receive opens a reception for the life of links.
func (n *Node) receive(links *link.Links) *reception {
	r := &reception{n, links, make(chan candidate)}
	n.host.SetStreamHandler(joinProtocol, r.sponsor)
	return r
}

func (r *reception) close() { r.node.host.RemoveStreamHandler(joinProtocol) }

// sponsor answers a returning worker.
func (r *reception) sponsor(s network.Stream) {
	t := handshake.New(s)
	rank, known := r.node.roster.Rank(t.Peer)
	if !known {
		t.TurnAway(&r.node.admission, handshake.Refusal(Stranger, "not in the roster"), func(err error) {
			handshake.Tell(&r.node.refused.Refusals, r.node.log, "refused a peer", err)
		})
		return
	}
	mine, process := r.links.Introduction(), uint64(0)
	err := t.Greet(&r.node.admission, mine, func(theirs handshake.Hello) *RefusedError {
		if no := mine.CompareShape(theirs); no != nil {
			return no
		}
		process = theirs.Epoch
		return mine.CompareRoster(theirs, rank)
	})
	if err != nil {
		r.node.log.Warn("handshake with a returning worker failed", "neighbour", int(rank), "err", err)
		return
	}
	g := candidate{rank: rank, process: process, answer: make(chan invitation, 1)}
	in, ok := r.invite(g)
	switch {
	case in.over:
		r.node.log.Info("refused a returning worker: the run is over", "neighbour", int(rank))
		_ = t.Refuse(handshake.Refusal(RunOver, "no exchange is left to begin with"))
		return
	case !ok || in.state == nil:
		_ = t.Refuse(handshake.Refusal(NotReady, "no place next to this worker now"))
		return
	}
	if err := give(t, in); err != nil {
		r.node.log.Warn("a returning worker has not received its state", "neighbour", int(rank), "err", err)
		g.failed = true
		r.invite(g)
	}
}

// invite hands a returning worker to the driver and waits for the answer. It returns false if the links end
// first.
func (r *reception) invite(g candidate) (in invitation, ok bool) {
	select {
	case r.requests <- g:
	case <-r.links.Done():
		return in, false
	}
	if g.failed {
		return in, true
	}
	select {
	case in = <-g.answer:
		return in, true
	case <-r.links.Done():
		return in, false
	}
}

// give sends a returning worker its round, its exchange and the size of the state, each a u64, then the state as
// in a checkpoint.
func give(t *handshake.Talk, in invitation) error {
	size, err := checkpoint.Len(in.state)
	if err != nil {
		return err
	}
	t.Stream.SetDeadline(time.Now().Add(joinTime))
	head := binary.LittleEndian.AppendUint64(nil, uint64(in.Round))
	head = binary.LittleEndian.AppendUint64(head, uint64(in.Exchange))
	head = binary.LittleEndian.AppendUint64(head, uint64(size))
	if err := t.Say(handshake.AboutPlace, head); err != nil {
		return err
	}
	if err := checkpoint.Encode(t.Stream, in.state); err != nil {
		return err
	}
	_, err = t.Expect(handshake.AboutYes, 0)
	return errors.Join(err, t.Stream.Close())
}

// host gives a returning worker a place at the next boundary, if there is one.
func (d *driver) host(g candidate) error {
	if g.failed {
		d.core.Missed(g.rank, g.process)
		return nil
	}
	if d.hosting.inviting != nil || d.decision.holding {
		g.answer <- invitation{}
		return nil
	}
	seat, answer, err := d.core.Host(g.rank, g.process)
	switch {
	case err != nil:
		return d.failed(err)
	case answer == elastic.Welcome:
		d.hosting.inviting = g.answer
		d.hosting.invited = Place{Sponsor: d.w.Rank, Round: seat.Round, Exchange: seat.From}
	default:
		g.answer <- invitation{over: answer == elastic.Over}
	}
	return nil
}

// boundary copies the state for a returning worker at the beginning of its round.
func (h *hosting) boundary(round int) {
	if h.inviting == nil || round != h.invited.Round {
		return
	}
	s := new(state.Snapshot)
	h.save(s)
	h.inviting <- invitation{Place: h.invited, state: s}
	h.inviting = nil
}

// end refuses a returning worker that would begin after the last round.
func (h *hosting) end(rounds int) {
	if h.inviting != nil && h.invited.Round >= rounds {
		h.inviting <- invitation{over: true}
		h.inviting = nil
	}
}
