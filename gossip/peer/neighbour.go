package peer

import (
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// A state is the state of the link to a neighbour.
//
//	state    meaning                          event                                  next
//	unmet    there has been no link           they meet                              up
//	up       there is one                     this worker says bye                   parting
//	up       there is one                     it is lost                             down
//	parting  this worker has said bye         it is lost                             down
//	down     there was one                    they meet                              up
//	left     both have said bye, or this      they meet: it has come back            up
//	         worker needs no bye of it
//	any                                       both have said bye, or it is given up  left
type state uint8

const (
	unmet state = iota
	up
	parting
	down
	left
	resting
	sought
)

// A neighbour holds this worker's knowledge of another worker.
type neighbour struct {
	rank  topology.Rank
	state state
	since time.Duration // time of the last change between up and not up
}

func (n *neighbour) is(s state, now time.Duration) { n.state, n.since = s, now }

// linked reports whether there is a link.
func (n *neighbour) linked() bool { return n.state == up || n.state == parting }

// find returns the entry of a worker, and adds one for a worker that was no neighbour at first.
func (p *Peer) find(rank topology.Rank) *neighbour {
	i := slices.IndexFunc(p.peers, func(n neighbour) bool { return n.rank == rank })
	if i < 0 {
		i = len(p.peers)
		p.peers = append(p.peers, neighbour{rank: rank, since: p.clock.now})
	}
	return &p.peers[i]
}

// part says bye on every link that has not carried it yet, after its last frame.
func (p *Peer) part(owed []topology.Rank) {
	for i := range p.peers {
		n := &p.peers[i]
		if p.work == settled && n.state == up && !slices.Contains(owed, n.rank) {
			n.state = parting
			p.say.Send(gossip.Frame{From: p.start.Self, To: n.rank, Kind: gossip.Bye})
		}
	}
}

// look checks for how long progress or neighbours have been missing.
func (p *Peer) look() error {
	for i := range p.peers {
		n := &p.peers[i]
		gone := p.clock.now - n.since
		switch {
		case n.linked() || n.state == left || p.idles(n):
		case p.start.Asynchronous && !p.Done() && gone >= farewell && p.start.Through(n.rank):
			// A neighbour that died after its last round, and has come back, would wait for ever.
			p.warn(n, "ending without a neighbour's last word")
			if err := p.Layer.Parted(n.rank, gossip.ErrGone); err != nil {
				return err
			}
		case p.Done() && gone >= farewell && (p.start.Durable == gossip.Undurable || p.start.Through(n.rank)):
			p.warn(n, "leaving without a neighbour's bye")
		case p.start.Lost == Fail && (n.state == down || n.state == sought) && gone >= grace:
			return &LostError{Peer: n.rank}
		}
	}
	idle := p.clock.now - p.clock.progress
	if p.work != computing && idle >= patience && p.clock.now-p.clock.noted >= patience {
		p.clock.noted = p.clock.now
		p.say.Note(gossip.Note{Kind: gossip.Awaited, For: idle, Peers: p.missing()})
	}
	return nil
}

// warn gives a neighbour up.
func (p *Peer) warn(n *neighbour, text string) {
	p.say.Note(gossip.Note{Kind: gossip.Trouble, Peer: n.rank, Text: text})
	n.is(left, p.clock.now)
}

// missing returns the neighbours that this worker waits for.
func (p *Peer) missing() (all []topology.Rank) {
	for _, n := range p.peers {
		if p.Done() && p.owes(n) || n.state != left && slices.Contains(p.wait, n.rank) {
			all = append(all, n.rank)
		}
	}
	return all
}
