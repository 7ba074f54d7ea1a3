package members

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	ma "github.com/multiformats/go-multiaddr"

	views "gossiptrainer/gossip/view"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/node/join"
	"gossiptrainer/node/socket"
)

// A Peer is a process that may become a member. The N of its hello is the number of founders.
type Peer = join.Process

// A postOffice sends the letters of a member and takes those for it.
type postOffice struct {
	process     *Peer
	self        id
	log         *slog.Logger
	detect      time.Duration // longest silence of the other end of a stream
	mostPayload int           // bytes of a frame
	mostState   int64         // bytes of a state
	inbox       chan arrival
	room        *room   // of the messages in the inbox that were coded
	lost        chan id // members whose letters are lost
	book        book
	leaves      chan struct{} // closed when the member posts no more
	over        chan struct{} // closed at the end
	ctx         context.Context
	cancel      context.CancelFunc
	wg          sync.WaitGroup
	sent        record.Tally

	coder coder // of the goroutine that posts

	lanes map[id]*[lanes]*lane // of the goroutine that posts
}

// An arrival is a letter of a member.
type arrival struct {
	from id
	letter
}

// open begins to take letters.
func (p *postOffice) open() {
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.process.Host.SetStreamHandler(letterProtocol, p.accept)
}

// leaving reports whether the member posts no more.
func (p *postOffice) leaving() bool {
	select {
	case <-p.leaves:
		return true
	default:
		return false
	}
}

// part sends what waits, for a while.
func (p *postOffice) part() {
	close(p.leaves)
	sent := make(chan struct{})
	go func() {
		p.wg.Wait()
		close(sent)
	}()
	select {
	case <-sent:
	case <-time.After(lastWords):
	}
}

// lastWords is how long a member may take to send its last letters.
const lastWords = time.Second

// close ends all streams.
func (p *postOffice) close() {
	p.process.Host.RemoveStreamHandler(letterProtocol)
	close(p.over)
	p.cancel()
	p.wg.Wait()
	p.coder.wg.Wait()
}

// send posts a letter. Without an address of its receiver it is lost.
func (p *postOffice) send(to id, l letter) {
	all := p.lanes[to]
	if all == nil {
		m, known := p.book.member(to)
		who, err := peer.Decode(m.Key)
		if !known || err != nil || who == p.process.Host.ID() {
			return
		}
		p.process.Host.Peerstore().AddAddrs(who, addressesIn(m.Address), peerstore.PermanentAddrTTL)
		all = new([lanes]*lane)
		for i := range all {
			one := &lane{post: p, to: to, peer: who, lane: byte(i), signal: make(chan struct{}, 1)}
			all[i] = one
			p.wg.Go(func() { one.run(p.ctx) })
		}
		p.lanes[to] = all
	}
	one := all[fast]
	if l.Frame != nil || l.State != nil {
		one = all[bulk]
	}
	if l.Frame != nil {
		l.coding = p.coder.code(*l.Frame, entropy.LinkCostOf(p.process.Host.Rate(one.peer)))
	}
	if one.add(l) {
		p.parted(to)
	}
}

// parted notes that letters to a member are lost. One note that waits is enough.
func (p *postOffice) parted(to id) {
	select {
	case p.lost <- to:
	default:
	}
}

// A book has the keys and addresses of all members that are known. Several goroutines may read it.
type book struct {
	mu    sync.Mutex
	all   map[id]views.Member
	apart map[id]bool // members whose process is in another run of this name
}

// setApart notes whether the process of a member is in another run of this name.
func (b *book) setApart(of id, apart bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.apart == nil {
		b.apart = map[id]bool{}
	}
	b.apart[of] = apart
}

// isApart reports whether the process of a member is in another run of this name.
func (b *book) isApart(of id) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.apart[of]
}

// enter adds members. The key of an id never changes.
func (b *book) enter(members ...views.Member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = make(map[id]views.Member)
	}
	for _, m := range members {
		if _, known := b.all[m.ID]; !known {
			b.all[m.ID] = m
		}
	}
}

func (b *book) member(of id) (views.Member, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m, known := b.all[of]
	return m, known
}

// key returns the peer id whose letters are those of a member.
func (b *book) key(of id) (peer.ID, bool) {
	m, known := b.member(of)
	who, err := peer.Decode(m.Key)
	return who, known && err == nil
}

// list returns all members that are known.
func (b *book) list() (all []views.Member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.all {
		all = append(all, m)
	}
	return all
}

// Bounds of the address of a member, which is a list of multiaddrs with spaces between them.
const (
	mostAddresses = 8
	mostAddress   = 1 << 10 // bytes
)

// addressesIn returns the multiaddrs of an address. It leaves out other words.
func addressesIn(text string) (all []ma.Multiaddr) {
	if len(text) > mostAddress {
		return nil
	}
	for _, field := range strings.Fields(text) {
		if a, err := ma.NewMultiaddr(field); err == nil && len(all) < mostAddresses {
			all = append(all, a)
		}
	}
	return all
}

// addressOf returns multiaddrs as the address of a member: those that other machines reach, or if there are none those
// of this machine.
func addressOf(addrs []ma.Multiaddr) string {
	if far := socket.Reachable(addrs); len(far) > 0 {
		addrs = far
	}
	var all []string
	size := 0
	for _, a := range addrs {
		if size += len(a.String()) + 1; size <= mostAddress && len(all) < mostAddresses {
			all = append(all, a.String())
		}
	}
	return strings.Join(all, " ")
}
