package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"

	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/record"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/join"
	"gossiptrainer/node/members"
	"gossiptrainer/topology"
)

// A Meeting says how a peer takes part in a run that members join and leave. It is a founder, or the members of a run
// that goes on have given it a place.
type Meeting struct {
	Founders []view.Member // in the order of ranks
	Self     view.ID       // of a founder
	Place    *members.Place
}

// Member returns what the drivers of members need of a node.
func Member(n *Node) members.Peer {
	return members.Peer{Host: n.host, Gate: n.gate, Hello: n.hello(), Admission: &n.admission,
		Refused: &n.refused.Refusals, Log: n.log}
}

// alone is how long the only founder of a run looks for one of that name before it begins.
const alone = 3 * time.Second

// Meet calls the roll of the founders, and asks all peers that it finds for a place in a run that goes on. The first of
// both counts. Its errors are of type *NetworkError.
func Meet(ctx context.Context, n *Node, samples int) (*Meeting, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := meet{node: n, found: make(chan peer.AddrInfo, 64), rosters: make(chan *join.Roster, 1),
		places: make(chan *members.Place, 1), failed: make(chan error, 2)}
	if n.opts.N > 1 {
		m.call(ctx)
	} else {
		time.AfterFunc(alone, func() {
			m.rosters <- &join.Roster{Members: handshake.Members{IDs: []peer.ID{n.host.ID()}}}
		})
	}
	m.ask(ctx, samples)
	m.search()
	for {
		select {
		case r := <-m.rosters:
			return &Meeting{Founders: m.founders(r), Self: r.Self}, nil
		case p := <-m.places:
			m.end()
			return &Meeting{Place: p}, nil
		case err := <-m.failed:
			if m.roll != nil && m.roll.Full() && !m.asked(err) { // the founders are about to begin, and give a place then
				continue
			}
			m.end()
			return nil, &NetworkError{Op: opJoin, Err: err}
		}
	}
}

// A meet is one under way.
type meet struct {
	node    *Node
	roll    *join.RollCall // nil: there is one founder
	found   chan peer.AddrInfo
	rosters chan *join.Roster
	places  chan *members.Place
	failed  chan error
}

// call calls the roll.
func (m *meet) call(ctx context.Context) {
	n := m.node
	m.roll = join.Call(join.Config{
		Host: n.host, Gate: n.gate, Hello: n.me, Admission: &n.admission, Detect: n.opts.Detect,
		Refused: &n.refused.Refusals, Log: n.log,
	})
	n.mu.Lock()
	n.roll = m.roll
	n.mu.Unlock()
	n.wg.Go(func() {
		r, err := m.roll.Roster(ctx, func(here int, detail string) {
			n.observe(record.Event{Status: &record.Status{
				Rank: handshake.Unranked, State: record.Joining, Detail: detail, Here: here,
			}})
		})
		if err != nil {
			m.failed <- err
			return
		}
		m.rosters <- r
	})
}

// An askError is why the members of a run do not want a guest.
type askError struct{ error }

func (e *askError) Unwrap() error { return e.error }

// asked reports whether an error comes from members of a run.
func (m *meet) asked(err error) bool {
	_, ok := errors.AsType[*askError](err)
	return ok
}

// ask asks for a place.
func (m *meet) ask(ctx context.Context, samples int) {
	n := m.node
	g := members.Guest{Peer: Member(n), Process: n.me.Epoch, Samples: samples, Said: func(detail string) {
		n.observe(record.Event{Status: &record.Status{Rank: handshake.Unranked, State: record.Joining, Detail: detail}})
	}}
	n.wg.Go(func() {
		p, err := g.Find(ctx, m.found)
		switch {
		case err == nil:
			m.places <- p
		case ctx.Err() == nil:
			m.failed <- &askError{err}
		case m.roll == nil:
			m.failed <- context.Cause(ctx)
		}
	})
}

// search hands over the peers that are found.
func (m *meet) search() {
	found := func(who peer.AddrInfo) {
		if m.roll != nil {
			m.roll.Found(who)
		}
		select {
		case m.found <- who:
		default: // more than there is room for: it is announced again
		}
	}
	m.node.discover(found)
	for _, c := range m.node.opts.Contacts {
		found(c)
	}
}

// end ends the roll call of a peer that is no founder.
func (m *meet) end() {
	if m.roll != nil {
		m.roll.Close()
	}
}

// founders returns the founders, with the names and addresses that this peer knows. The roll call goes on until all
// founders know of the agreement. Later callers are no founders: members give them a place.
func (m *meet) founders(r *join.Roster) []view.Member {
	n := m.node
	names := map[peer.ID]string{}
	if m.roll != nil {
		names = m.roll.Hosts()
		n.wg.Go(func() {
			m.roll.Release(func(peer.ID) bool { return true })
			m.roll.Close()
		})
	}
	names[n.host.ID()] = n.me.Host
	var all []view.Member
	for rank, id := range r.IDs {
		addrs := n.host.Peerstore().Addrs(id)
		if id == n.host.ID() {
			addrs = n.host.Addrs()
		}
		all = append(all, view.Member{ID: topology.Rank(rank), Name: names[id], Key: id.String(),
			Address: members.AddressOf(addrs)})
	}
	return all
}

// Listed returns the founders in the order of a roster, which names the addresses of all.
func Listed(n *Node, roster []Peer) (*Meeting, error) {
	r, err := n.parse(roster)
	if err != nil {
		return nil, err
	}
	m := &Meeting{Self: r.Self}
	for rank, id := range r.IDs {
		m.Founders = append(m.Founders, view.Member{ID: topology.Rank(rank), Name: fmt.Sprint("peer ", rank),
			Key: id.String(), Address: members.AddressOf(r.Addrs[rank])})
	}
	return m, nil
}

// Ask asks peers with known addresses for a place in a run that goes on. Its errors are of type *NetworkError.
func Ask(ctx context.Context, n *Node, peers []Peer) (*Meeting, error) {
	found := make(chan peer.AddrInfo, len(peers))
	for _, p := range peers {
		id, err := peer.Decode(p.ID)
		if err != nil || id == n.host.ID() { // an id of a process that has not begun yet is empty
			continue
		}
		who := peer.AddrInfo{ID: id}
		for _, text := range p.Addrs {
			if a, err := ma.NewMultiaddr(text); err == nil {
				who.Addrs = append(who.Addrs, a)
			}
		}
		found <- who
	}
	g := members.Guest{Peer: Member(n), Process: n.me.Epoch}
	place, err := g.Find(ctx, found)
	if err != nil {
		return nil, &NetworkError{Op: opJoin, Err: err}
	}
	return &Meeting{Place: place}, nil
}
