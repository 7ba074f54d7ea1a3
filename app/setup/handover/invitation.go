package handover

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/human"
	"gossiptrainer/node/handshake"
)

// A Member is a machine of a run and where its links listen.
type Member struct {
	ID    string
	Addrs []string // multiaddrs
}

// Terms say what an invitation hands over, and to whom.
type Terms struct {
	Seats  int           // machines that the token admits, 1 to MostSeats
	Valid  time.Duration // of the token
	Addrs  []netip.Addr  // for the token; empty: those of the interfaces
	Manner Manner        // Undecided, Gathered, Listed or Called
	Listed []peer.ID     // of Listed, by rank

	Host   string // name of this machine
	Self   string // its id in the run
	Port   int    // for its links, of Gathered
	QUIC   bool   // the links use QUIC
	Offer  Offer
	Secret string
	// Compose returns the run file with this roster, of Gathered alone.
	Compose func([]Member) (string, error)
	// Tell hears of machines that come and go, and of what keeps them.
	Tell func(News)
}

// News are about one machine, or about the invitation as a whole if Machine is empty.
type News struct {
	Machine string // name and id
	Text    string
}

// An Outcome says how an invitation has ended.
type Outcome struct {
	Joined  int      // machines that have their files
	Members []Member // of Gathered: the whole roster; nil unless all have come
}

// An ExpiredError says that a token has expired before all machines had joined.
type ExpiredError struct {
	Joined, Seats int
	Valid         time.Duration
}

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("the token has expired after %v: %d of %s joined", e.Valid, e.Joined,
		human.Count(e.Seats, "machine"))
}

// An Invitation waits for machines that join.
type Invitation struct {
	Token Token

	p         *Presence
	terms     Terms
	admission handshake.Admission
	hello     handshake.Hello
	ctx       context.Context
	cancel    context.CancelCauseFunc
	wg        sync.WaitGroup

	mu     sync.Mutex
	seats  seats
	all    chan struct{} // closed when all have accepted, of Gathered
	done   chan struct{} // closed when all have joined
	once   sync.Once     // closes done
	roster roster
}

// A roster is that of Gathered.
type roster struct {
	own     string   // address of the links of this machine
	members []Member // nil until all have accepted
	final   string   // run file with them
}

// errExpired ends the conversations of an invitation.
var errExpired = errors.New("the token has expired")

// Invite makes a token and begins to answer. The caller must Serve.
func (p *Presence) Invite(ctx context.Context, terms Terms) (*Invitation, error) {
	addrs, number, err := p.where(terms.Addrs)
	if err != nil {
		return nil, err
	}
	i := &Invitation{
		p: p, terms: terms, all: make(chan struct{}), done: make(chan struct{}),
		seats:  seats{total: terms.Seats, manner: terms.Manner, listed: terms.Listed},
		roster: roster{final: terms.Offer.RunFile},
		Token: Token{
			Expires: time.Now().Add(terms.Valid).Truncate(time.Second), Inviter: p.host.ID(), Port: number, Addrs: addrs,
		},
	}
	rand.Read(i.Token.Key[:])
	i.admission = admissionOf(p.host.ID(), i.Token)
	i.hello = helloOf(terms.Host)
	i.ctx, i.cancel = context.WithCancelCause(ctx)
	p.host.SetStreamHandler(inviteProtocol, func(s network.Stream) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.ctx.Err() == nil {
			i.wg.Go(func() { i.answer(s) })
		} else {
			s.Reset()
		}
	})
	return i, nil
}

// admissionOf returns the proof of the key of a token.
func admissionOf(self peer.ID, t Token) handshake.Admission {
	return handshake.Admission{Self: self, Run: "invitation", Secret: t.Key[:]}
}

func helloOf(host string) handshake.Hello {
	return handshake.Hello{
		Rank: handshake.Unranked, Durable: gossip.Undurable, Host: host[:min(len(host), handshake.MaxHost)],
	}
}

// Serve returns when all machines have joined, when the token expires, with an *ExpiredError, or when the context of
// Invite ends, with its cause.
func (i *Invitation) Serve() (Outcome, error) {
	expiry := time.NewTimer(i.terms.Valid)
	defer expiry.Stop()
	var err error
	select {
	case <-i.done:
	case <-expiry.C:
		err = errExpired
	case <-i.ctx.Done():
		err = context.Cause(i.ctx)
	}
	i.mu.Lock()
	i.cancel(errExpired) // changes no cause that is there
	i.mu.Unlock()
	i.p.host.RemoveStreamHandler(inviteProtocol)
	i.wg.Wait()
	i.mu.Lock()
	defer i.mu.Unlock()
	out := Outcome{Joined: i.seats.count(joined), Members: i.roster.members}
	if out.Joined == i.terms.Seats {
		return out, nil
	}
	if errors.Is(err, errExpired) {
		err = &ExpiredError{out.Joined, i.terms.Seats, i.terms.Valid}
	}
	return out, err
}
