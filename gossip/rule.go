package gossip

import (
	"fmt"

	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// A Splitter is an Algorithm of one hop whose messages can travel in pieces. A piece is sent, checked and mixed without
// the others; 0 ≤ piece < Pieces. If there are several, the protocol calls the methods below in place of Send and Mix.
type Splitter interface {
	// Pieces returns the number of pieces of every message, ≥ 1. It is called once.
	Pieces() int
	// SendPiece appends the payload of a piece of round k to dst, as Send does. The pieces of a round are sent in order.
	SendPiece(k, piece int, dst []byte) ([]byte, error)
	// CheckPiece returns the error that MixPiece would return because of the messages, and changes nothing. A Verifier
	// verifies the messages here.
	CheckPiece(k, piece int, in []algos.Message) error
	// MixPiece uses a piece of the messages of round k, as Mix does. A Verifier has checked them. A Parallel worker calls
	// it for several pieces at the same time.
	MixPiece(k, piece int, in []algos.Message) (algos.Mixed, error)
}

// A Schedule says in which rounds a worker exchanges, and with how many bits.
type Schedule struct {
	Rounds int        // of the run, ≥ 0
	Every  int        // the worker exchanges in the last of every Every rounds, ≥ 1
	Agreed *Agreement // chooses the bits; the worker takes it over; nil: they do not change
	Late   bool       // the first message is made when the driver first asks for work, not before
	Heir   bool       // the worker only gives its algorithm to another, see Succeed: its messages are in one piece
}

// mostPieces bounds the pieces of a message, which have 16 bits on the wire.
const mostPieces = 1 << 16

// A rule is the update rule of a worker, with its abilities.
type rule struct {
	Algorithm
	local    Local    // nil unless it can take steps alone
	splitter Splitter // nil: its messages are in one piece
	pieces   int      // of a message
	lanes    lanes
	perHop   int // lanes of a hop, ≥ 1
}

// newRule returns the rule of worker self, or the reason why alg cannot be used.
func newRule(self topology.Rank, alg Algorithm, schedule Schedule) (rule, error) {
	rounds, plan := schedule.Rounds, alg.Plan()
	if rounds < 0 || plan.Hops < 0 || plan.Lead < 1 {
		return rule{}, fmt.Errorf("gossip: worker %d: %d rounds of %d hops with lead %d: need at least 0, 0 and 1",
			self, rounds, plan.Hops, plan.Lead)
	}
	r := rule{Algorithm: alg, pieces: 1, perHop: 1}
	r.local, _ = alg.(Local)
	if schedule.Every < 1 || schedule.Every > 1 && r.local == nil {
		return rule{}, fmt.Errorf("gossip: worker %d: exchange in one of %d rounds: the algorithm exchanges in every round",
			self, schedule.Every)
	}
	if c, ok := alg.(Carrier); ok {
		if r.lanes = newLanes(c.Carries()); len(r.lanes) == mostLanes && plan.Hops == 1 {
			r.perHop = mostLanes
		} else if len(r.lanes) != plan.Hops {
			return rule{}, fmt.Errorf("gossip: worker %d: %d codecs for %d hops: need one for each, or two for one hop",
				self, len(r.lanes), plan.Hops)
		}
	}
	return r.split(self, plan, schedule)
}

// split returns the rule with its pieces, or the reason why there are none.
func (r rule) split(self topology.Rank, plan algos.Plan, schedule Schedule) (rule, error) {
	s, ok := r.Algorithm.(Splitter)
	if ok && (!schedule.Heir || r.perHop > 1) {
		r.pieces = s.Pieces()
	}
	switch {
	case r.perHop > 1 && (r.pieces == 1 || r.pieces%r.perHop != 0 || schedule.Agreed != nil):
		return rule{}, fmt.Errorf("gossip: worker %d: %d lanes in one hop: need pieces of each, got %d in all, and bits "+
			"that do not change", self, r.perHop, r.pieces)
	case r.pieces == 1:
		return r, nil
	}
	if plan.Hops != 1 || r.pieces < 1 || r.pieces > mostPieces {
		return rule{}, fmt.Errorf("gossip: worker %d: messages of %d pieces in %d hops: need 1 to %d in one hop", self,
			r.pieces, plan.Hops, mostPieces)
	}
	r.splitter = s
	return r, nil
}

// send appends a piece of the payload of (k, hop) to dst.
func (r *rule) send(k, hop, piece int, dst []byte) ([]byte, error) {
	if r.splitter == nil {
		return r.Send(k, hop, dst)
	}
	return r.splitter.SendPiece(k, piece, dst)
}

// mix mixes a piece of the messages of (k, hop).
func (r *rule) mix(k, hop, piece int, in []algos.Message) (algos.Mixed, error) {
	if r.splitter == nil {
		return r.Mix(k, hop, in)
	}
	return r.splitter.MixPiece(k, piece, in)
}

// lane returns the lane of a piece of a hop, and the number of the piece in it.
func (r *rule) lane(hop, piece int) (lane, int) {
	each := r.pieces / r.perHop
	return r.lanes.at(hop*r.perHop + piece/each), piece % each
}

// of returns the lanes of a hop, none without codecs.
func (r *rule) of(hop int) lanes {
	if len(r.lanes) == 0 {
		return nil
	}
	return r.lanes[hop*r.perHop:][:r.perHop]
}

// verifies reports whether pieces are verified before they are mixed.
func (r *rule) verifies() bool { return r.splitter != nil && r.lanes.at(0).verify != nil }
