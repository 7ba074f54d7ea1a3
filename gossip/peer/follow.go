package peer

import (
	"slices"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/follow"
	"gossiptrainer/topology"
)

// Where a worker meets many others, it keeps the links open that it needs next. Each end says when it needs a link no
// more, and the link rests when both have said so. So an end that lacks a message or a repair keeps the link, and makes
// a new one where there is none.

// following is how a worker keeps links open.
type following struct {
	*follow.Links                 // nil: all stay open
	every         int             // rounds to an exchange
	at            int             // the exchange for which the links were chosen last, and one
	late          int             // exchanges that waited for a link that was not open
	counted       int             // the last of them, and one
	idle          []topology.Rank // links that may rest, once what Ready has returned is sent
	unparted      []topology.Rank
}

// follow opens the links that the worker needs next, and lets others rest after the next call of Ready.
func (p *Peer) follow(r *gossip.Ready) {
	f := &p.links
	if f.Links == nil {
		return
	}
	at := r.Round / f.every
	if f.at == 0 && p.start.Place > 0 {
		p.meet()
	}
	if r.Done || f.at != at+1 {
		f.at = at + 1
		open, rest := f.choose(p, r.Done)
		for _, rank := range open {
			p.seek(p.find(rank))
			p.say.Control(gossip.Control{Kind: gossip.CallPeer, Peer: rank})
		}
		f.idle = append(f.idle, rest...)
		r.More = r.More || len(f.idle) > 0
	}
	for _, rank := range r.Waiting {
		if n := p.find(rank); p.running() && f.counted <= at && !n.linked() && n.state != down {
			f.late, f.counted = f.late+1, at+1
		}
	}
}

// meet makes a link to each last partner of a worker that has come back. Such a partner may lack a message that died
// with the earlier process, and may not know the address of this one.
func (p *Peer) meet() {
	for _, rank := range p.links.Last(nil, p.start.Place) {
		p.say.Control(gossip.Control{Kind: gossip.MeetPeer, Peer: rank})
	}
}

// choose returns the links to open and to let rest now.
func (f *following) choose(p *Peer, done bool) (open, rest []topology.Rank) {
	if done {
		return f.Only(p.unparted())
	}
	return f.At(f.at - 1)
}

// idle lets links rest. A neighbour that lacks one was asked for in vain.
func (p *Peer) idle() {
	for _, rank := range p.links.idle {
		n := p.find(rank)
		switch {
		case p.links.Wants(rank) || n.state == parting: // it is wanted again, or ends with a bye
			continue
		case n.state == sought:
			n.is(resting, p.clock.now)
		}
		p.say.Control(gossip.Control{Kind: gossip.RestPeer, Peer: rank})
	}
	p.links.idle = p.links.idle[:0]
}

// running reports whether all workers have begun, because the news of all have reached this one.
func (p *Peer) running() bool { return p.links.at > p.start.Rows.Ahead() }

// seek notes that this worker needs a link to a neighbour.
func (p *Peer) seek(n *neighbour) {
	if n.state == resting || n.state == unmet && p.running() {
		n.is(sought, p.clock.now)
	}
}

// unparted returns the neighbours that a worker which is done owes a bye. Without checkpoints these are the last that
// it met, because all others are past their meetings. A worker with a checkpoint may come back to any neighbour. Then
// each pair meets once more, at the same time as all others do.
func (p *Peer) unparted() []topology.Rank {
	f := &p.links
	f.unparted = f.unparted[:0]
	if p.start.Durable == gossip.Undurable {
		f.unparted = f.Last(f.unparted, f.at-1)
	} else {
		n := topology.Rank(len(p.peers) + 1)
		for _, other := range p.peers {
			f.unparted = append(f.unparted, other.rank)
		}
		slices.SortFunc(f.unparted, func(a, b topology.Rank) int { return int((p.start.Self+a)%n - (p.start.Self+b)%n) })
	}
	f.unparted = slices.DeleteFunc(f.unparted, func(rank topology.Rank) bool {
		n := p.find(rank)
		if !n.linked() && p.start.Durable != gossip.Undurable && p.start.Through(rank) {
			n.is(left, p.clock.now)
		}
		return n.state == left
	})
	return f.unparted
}

// owes reports whether the worker must not leave before a neighbour has said bye.
func (p *Peer) owes(n neighbour) bool {
	switch {
	case n.state == left || !p.needs(n.rank):
		return false
	case p.links.Links == nil || n.linked():
		return true
	}
	return p.links.Wants(n.rank) || p.start.Durable != gossip.Undurable
}

// idles reports whether there is no link to a neighbour, and need not be one.
func (p *Peer) idles(n *neighbour) bool {
	return p.links.Links != nil && (n.state == unmet || n.state == resting) && !p.links.Wants(n.rank)
}

// Seeks reports whether the worker wants a link to a neighbour now.
func (p *Peer) Seeks(rank topology.Rank) bool { return p.links.Links == nil || p.links.Wants(rank) }

// Late returns how many exchanges waited for a link that was not open, and was not lost.
func (p *Peer) Late() int { return p.links.late }
