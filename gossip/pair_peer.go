package gossip

import (
	"encoding/binary"

	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// A pairPeer is how things stand with one neighbour.
type pairPeer struct {
	rank     topology.Rank
	up       bool // it can be reached
	gone     bool // it is no neighbour any more
	declined bool // it has declined in this step
	finished bool // it will offer nothing more

	codec    algos.Codec // of the link
	verify   Verifier    // nil unless codec verifies
	proposer Proposer    // nil unless codec is one

	next  int   // number of the next offer to it
	doubt offer // whose link broke, if open

	seen    int    // number of the last offer from it that was answered or declined
	replied bool   // answered
	reply   []byte // to that offer: it was not lost if there is a newer offer
	granted bool   // the repair of reply has been sent on the present link
	held    letter // its offer, which waits for its repair, or for the own offer to end
}

// An offer is one that this worker has made.
type offer struct {
	open    bool
	number  int
	at      []float32 // the model offered, the reference for the reply
	payload []byte    // the model encoded, and the census
	granted bool      // its repair has been sent
	reply   letter    // which waits for its repair
}

// A letter is a message that is not used yet.
type letter struct {
	Frame
	there  bool
	lacks  bool   // it was recovered wrongly and has no repair yet
	repair []byte // nil without one
}

func newPairPeer(self, rank topology.Rank, codec algos.Codec) pairPeer {
	mine, theirs := 0, 1
	if rank < self {
		mine, theirs = 1, 0
	}
	p := pairPeer{rank: rank, up: true, next: mine, seen: theirs - 2, codec: codec}
	if v, ok := codec.(Verifier); ok && v.Verifies() {
		p.verify = v
	}
	p.proposer, _ = codec.(Proposer)
	return p
}

// peer returns the neighbour of that rank, nil if there is none.
func (w *PairWorker) peer(rank topology.Rank) *pairPeer {
	for i := range w.peers {
		if w.peers[i].rank == rank && !w.peers[i].gone {
			return &w.peers[i]
		}
	}
	return nil
}

// A census counts the steps of all workers. Counts only grow, so two of them
// are joined by the maximum, in any order and any number of times.
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

// CensusBytes returns the bytes that the steps of all workers take at the end
// of the payloads of a PairWorker.
func CensusBytes(workers int) int { return 4 * workers }

func (c *census) size() int { return CensusBytes(len(c.steps)) }

// mostSteps returns the worker that has done most according to counts.
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

// join takes in the counts of another worker, except for those of self, who
// knows best.
func (c *census) join(self topology.Rank, counts []byte) {
	for i, n := range c.steps {
		if theirs := binary.LittleEndian.Uint32(counts[4*i:]); theirs > n && i != int(self) {
			c.total += int(theirs - n)
			c.steps[i] = theirs
		}
	}
}
