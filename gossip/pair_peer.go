package gossip

import (
	"encoding/binary"

	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// A pairPeer is one neighbour: its link, and the exchanges for which either end has asked.
type pairPeer struct {
	rank     topology.Rank
	state    pairPeerState
	declined bool    // a question of this step
	finished bool    // it has said that it asks no more
	still    bool    // it may be dead: this worker neither asks nor serves it for now
	off      bool    // the present graph has no such edge: this worker asks it no more
	queried  [2]bool // it has asked on this link for what it lacks of an exchange of theirs, of mine

	codec    algos.Codec // of the link
	verify   Verifier    // nil unless codec verifies
	proposer Proposer    // nil unless codec is one

	next  int  // number of the next question to it
	asked bool // the last one has no answer

	seen    int    // number of its last question that was answered
	held    bool   // its question seen+2 waits until this worker is free
	arrival int    // of that question, in the order of all questions
	note    uint32 // of that question

	mine, theirs trade // the last exchange for which this worker, and the neighbour, has asked
}

// question returns the number of the last question to p.
func (p *pairPeer) question() int { return p.next - 2 }

// unfinished reports whether p owes this worker an answer or a model.
func (p *pairPeer) unfinished() bool {
	return p.asked || p.mine.state == lacking || p.theirs.state == lacking
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

// A trade is an exchange of models to which both ends have agreed. This worker keeps the model
// that it has sent until it sends one in a later exchange of the same end: then the neighbour has used it.
//
//	state    meaning                                      event                     next
//	none     there was none                               both ends agree           lacking
//	lacking  the own model was sent                       the other one is used     used
//	used     the neighbour may still lack the own model   both agree to a new one   lacking
type trade struct {
	number   int
	state    tradeState
	at       []float32 // the model sent, the reference for the received one; nil unless lacking
	payload  []byte    // the model encoded, and the census
	mended   bool      // its repair was sent on this link
	received letter    // that waits for its repair
}

type tradeState uint8

const (
	none tradeState = iota
	lacking
	used
)

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
	p.state, p.queried = unreachable, [2]bool{}
	if up {
		p.state = reachable
	}
	if p.held { // its sender asks about it, too
		p.seen, p.held = p.seen+2, false
	}
	p.mine.mended, p.theirs.mended = false, false
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
	self  int    // the place of this worker, whose count it knows best
	empty []bool // places that no worker has now; nil: all have one
	given int    // what keeps the clock where it was when workers came or went
	total int    // steps of the places that are taken, and given
	taken int    // how many places are
}

func newCensus(workers, self int) census {
	return census{steps: make([]uint32, workers), self: self, taken: workers}
}

// clock returns the mean number of steps per worker.
func (c *census) clock() int { return c.total / c.taken }

// add adds up the counts.
func (c *census) add() {
	c.total, c.taken = c.given, 0
	for i, n := range c.steps {
		if c.empty == nil || !c.empty[i] {
			c.total += int(n)
			c.taken++
		}
	}
}

// count adds one step of this worker.
func (c *census) count() {
	c.steps[c.self]++
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

// join takes in the counts of another worker, except that of this one.
func (c *census) join(counts []byte) {
	for i, n := range c.steps {
		if theirs := binary.LittleEndian.Uint32(counts[4*i:]); theirs > n && i != c.self {
			c.steps[i] = theirs
		}
	}
	c.add()
}
