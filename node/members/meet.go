package members

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/gossip/view"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/join"
	"gossiptrainer/topology"
)

// A Meeting says how a peer takes part in a run that members join and leave. It is a founder, or the members of a run
// that goes on have given it a place.
type Meeting struct {
	Founders []view.Member // in the order of ranks
	Self     view.ID       // of a founder
	Place    *Place
	// Lineage tells the run from others of its name and secret: founders take the number of the first one's process.
	Lineage uint64
}

// alone is how long the only founder of a run looks for one of that name before it begins.
const alone = 3 * time.Second

// Meet calls the roll of the founders, and asks all peers that it finds for a place in a run that goes on. The first of
// both counts.
func Meet(ctx context.Context, p Peer) (*Meeting, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := meet{Peer: p, found: make(chan peer.AddrInfo, 64), rosters: make(chan roster, 1),
		places: make(chan *Place, 1), failed: make(chan error, 2)}
	if p.Hello.N > 1 {
		m.call(ctx)
	} else {
		time.AfterFunc(alone, func() {
			m.rosters <- roster{&join.Roster{Members: handshake.Members{IDs: []peer.ID{p.Host.ID()}}}, p.Hello.Epoch}
		})
	}
	m.ask(ctx)
	m.search()
	for {
		select {
		case r := <-m.rosters:
			return &Meeting{Founders: m.founders(r.Roster), Self: r.Self, Lineage: r.lineage}, nil
		case p := <-m.places:
			m.end()
			return &Meeting{Place: p, Lineage: p.Lineage}, nil
		case err := <-m.failed:
			if m.roll != nil && m.roll.Full() && !m.asked(err) { // the founders are about to begin, and give a place then
				continue
			}
			m.end()
			return nil, err
		}
	}
}

// A meet is one under way.
type meet struct {
	Peer
	roll    *join.RollCall // nil: there is one founder
	found   chan peer.AddrInfo
	rosters chan roster
	places  chan *Place
	failed  chan error
	rival   func(who peer.ID, exchange int) // see guest
}

// A roster is that of founders.
type roster struct {
	*join.Roster
	lineage uint64
}

// call calls the roll.
func (m *meet) call(ctx context.Context) {
	m.roll = join.Call(join.Config{
		Host: m.Host, Gate: m.Gate, Hello: m.Hello, Admission: m.Admission, Detect: m.Detect, Refused: m.Refused, Log: m.Log,
	})
	go func() {
		r, err := m.roll.Roster(ctx, m.Said)
		lineage := m.Hello.Epoch
		if err == nil && r.Self > 0 {
			lineage, err = m.roll.Process(ctx, r.IDs[0])
		}
		if err != nil {
			m.failed <- err
			return
		}
		m.rosters <- roster{r, lineage}
	}()
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
func (m *meet) ask(ctx context.Context) {
	g := guest{Peer: m.Peer, process: m.Hello.Epoch, rival: m.rival}
	go func() {
		p, err := g.find(ctx, m.found)
		switch {
		case err == nil:
			m.places <- p
		case ctx.Err() == nil:
			m.failed <- &askError{err}
		case m.roll == nil:
			m.failed <- context.Cause(ctx)
		}
	}()
}

// search hands over the peers that are found.
func (m *meet) search() {
	found := func(who peer.AddrInfo) {
		if who.ID == m.Host.ID() {
			return
		}
		if m.roll != nil {
			m.roll.Found(who)
		}
		select {
		case m.found <- who:
		default: // more than there is room for: it is announced again
		}
	}
	m.Discover(found)
	for _, c := range m.Contacts {
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
	names := map[peer.ID]string{}
	if m.roll != nil {
		names = m.roll.Hosts()
		go func() {
			m.roll.Release(func(peer.ID) bool { return true })
			m.roll.Close()
		}()
	}
	names[m.Host.ID()] = m.Hello.Host
	var all []view.Member
	for rank, id := range r.IDs {
		addrs := m.Host.Peerstore().Addrs(id)
		if id == m.Host.ID() {
			addrs = m.Host.Addrs()
		}
		all = append(all, view.Member{ID: topology.Rank(rank), Name: names[id], Key: id.String(), Address: addressOf(addrs)})
	}
	return all
}

// Listed returns the founders in the order of a roster, which names the addresses of all.
func Listed(p Peer, roster []join.Peer) (*Meeting, error) {
	r, err := join.ParseRoster(roster, p.Hello.N, p.Host.ID())
	if err != nil {
		return nil, err
	}
	m := &Meeting{Self: r.Self}
	keys := sha256.New()
	for _, id := range r.IDs {
		keys.Write([]byte(id))
	}
	m.Lineage = binary.LittleEndian.Uint64(keys.Sum(nil)) // such peers have keys for one run
	for rank, id := range r.IDs {
		m.Founders = append(m.Founders, view.Member{ID: topology.Rank(rank), Name: fmt.Sprint("peer ", rank),
			Key: id.String(), Address: addressOf(r.Addrs[rank])})
	}
	return m, nil
}

// Ask asks peers with known addresses for a place in a run that goes on.
func Ask(ctx context.Context, p Peer, peers []join.Peer) (*Meeting, error) {
	found := make(chan peer.AddrInfo, len(peers))
	for _, who := range Contacts(peers) {
		if who.ID != p.Host.ID() {
			found <- who
		}
	}
	g := guest{Peer: p, process: p.Hello.Epoch}
	place, err := g.find(ctx, found)
	if err != nil {
		return nil, err
	}
	return &Meeting{Place: place, Lineage: place.Lineage}, nil
}

// Contacts returns the peers of a list whose ids are there: that of a process that has not begun yet is empty.
func Contacts(peers []join.Peer) (all []peer.AddrInfo) {
	for _, p := range peers {
		id, err := peer.Decode(p.ID)
		if err != nil {
			continue
		}
		who := peer.AddrInfo{ID: id}
		for _, a := range addressesIn(strings.Join(p.Addrs, " ")) {
			if a, _ = peer.SplitAddr(a); a != nil {
				who.Addrs = append(who.Addrs, a)
			}
		}
		all = append(all, who)
	}
	return all
}
