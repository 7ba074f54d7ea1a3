package gossip

import (
	"encoding/binary"

	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// A pairPeer is one neighbour: its link, the offers to it and the offers from it.
type pairPeer struct {
	rank     topology.Rank
	state    pairPeerState
	declined bool // an offer of this step
	finished bool // it has said that it makes no more offers
	queried  bool // it has asked on this link how its offer has ended: once, as one offer can be in doubt

	codec    algos.Codec // of the link
	verify   Verifier    // nil unless codec verifies
	proposer Proposer    // nil unless codec is one

	next  int    // number of the next offer to it
	doubt *offer // the offer whose link broke; nil if there is none

	seen  int    // number of its last offer that was answered or declined
	reply answer // to that offer
	held  letter // its offer that waits for its repair, or for the end of the own offer
}

// A pairPeerState says whether a neighbour can be reached.
//
//	state                   meaning                    event            next
//	reachable               there is a link            Link, down       unreachable
//	unreachable             there is none              Link, up         reachable
//	reachable, unreachable                             Cut, or Close    gone
//	gone                    it is no neighbour: Open adds a new pairPeer for its rank
type pairPeerState uint8

const (
	reachable pairPeerState = iota
	unreachable
	gone
)

// An answer is the reply to the last offer of a neighbour. It was not lost if there is
// a newer offer.
//
//	state    meaning                             event                            next
//	none     the last offer was declined         an offer is answered             sent
//	sent     the reply was sent                  its repair is sent               mended
//	mended   its repair was sent on this link    the link ends, or is a new one   sent
//	sent, mended                                 a newer offer is declined        none
type answer struct {
	state   answerState
	payload []byte
}

type answerState uint8

const (
	none answerState = iota
	sent
	mended
)

// An offer is one that this worker has made.
type offer struct {
	number  int
	at      []float32 // the model offered, the reference for the reply
	payload []byte    // the model encoded, and the census
	mended  bool      // its repair was sent
	reply   letter    // that waits for its repair
}

// A letter is a message that is not used yet.
//
//	state     meaning                                   event                       next
//	absent    there is none                             it arrives                  arrived
//	arrived   it can be used                            it was recovered wrongly    mistaken
//	mistaken  its repair was asked for                  the repair arrives          repaired
//	repaired  it can be used with its repair
//	arrived, mistaken, repaired                         it is used or dropped       absent
type letter struct {
	Frame
	state  letterState
	repair []byte // not nil if repaired, else nil
}

type letterState uint8

const (
	absent letterState = iota
	arrived
	mistaken
	repaired
)

func newPairPeer(self, rank topology.Rank, codec algos.Codec) pairPeer {
	mine, theirs := 0, 1
	if rank < self {
		mine, theirs = 1, 0
	}
	p := pairPeer{rank: rank, next: mine, seen: theirs - 2, codec: codec}
	if v, ok := codec.(Verifier); ok && v.Verifies() {
		p.verify = v
	}
	p.proposer, _ = codec.(Proposer)
	return p
}

// relink notes that the link has ended or that a new one was made.
func (p *pairPeer) relink(up bool) {
	p.state, p.queried = unreachable, false
	if up {
		p.state = reachable
	}
	if p.reply.state == mended {
		p.reply.state = sent
	}
}

// peer returns the neighbour of that rank, nil if there is none.
func (w *PairWorker) peer(rank topology.Rank) *pairPeer {
	for i := range w.peers {
		if w.peers[i].rank == rank && w.peers[i].state != gone {
			return &w.peers[i]
		}
	}
	return nil
}

// A census counts the steps of all workers. Counts only grow, so two censuses are joined
// by the maximum, in any order and any number of times.
type census struct {
	steps []uint32
	total int
}

func newCensus(workers int) census { return census{steps: make([]uint32, workers)} }

// count adds one step of a worker.
func (c *census) count(worker topology.Rank) {
	c.steps[worker]++
	c.total++
}

// CensusBytes returns the size in bytes of the census at the end of the payloads of a
// PairWorker.
func CensusBytes(workers int) int { return 4 * workers }

func (c *census) size() int { return CensusBytes(len(c.steps)) }

// mostSteps returns the worker with the most steps in counts.
func mostSteps(counts []byte) (worker int, steps uint32) {
	for i := 0; 4*i < len(counts); i++ {
		if n := binary.LittleEndian.Uint32(counts[4*i:]); n > steps {
			worker, steps = i, n
		}
	}
	return worker, steps
}

// append appends the counts to dst, 4 bytes each, little-endian, by rank.
func (c *census) append(dst []byte) []byte {
	for _, n := range c.steps {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	return dst
}

// join takes in the counts of another worker, except the count of self, which this
// worker knows best.
func (c *census) join(self topology.Rank, counts []byte) {
	for i, n := range c.steps {
		if theirs := binary.LittleEndian.Uint32(counts[4*i:]); theirs > n && i != int(self) {
			c.total += int(theirs - n)
			c.steps[i] = theirs
		}
	}
}
