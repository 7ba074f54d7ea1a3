package members

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"gossiptrainer/gossip/council"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/join"
	"gossiptrainer/node/socket"
)

// askProtocol is that of the streams on which a process asks to become a member.
const askProtocol protocol.ID = "/gossiptrainer/ask/1.0.0"

// A request is what a process asks.
type request struct {
	Process uint64 `json:"process"` // a number that no other process has
	Address string `json:"address"`
}

// An answer is what a member says, once a second until ID is there.
type answer struct {
	ID      *views.ID      `json:"id,omitempty"`
	Members []views.Member `json:"members,omitempty"` // whose letters the newcomer takes
	Lineage uint64         `json:"lineage,omitempty,string"`
	Parent  *views.Parent  `json:"parent,omitempty"`  // of the run
	Detail  string         `json:"detail,omitempty"`  // why it waits
	Resumes *int           `json:"resumes,omitempty"` // the exchange of a process that resumes the run itself
}

// parse reads a request or an answer. It refuses fields that it does not know.
func parse(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errLetter
	}
	return nil
}

// A door answers processes that ask.
type door struct {
	*Peer
	asks chan asking
	over <-chan struct{}
}

// An asking is a request that the goroutine of the member answers.
type asking struct {
	newcomer council.Newcomer
	answer   chan reply
}

// A reply is an answer or a refusal.
type reply struct {
	answer
	no *handshake.RefusedError
}

func newDoor(p *Peer, over <-chan struct{}) *door {
	return &door{Peer: p, asks: make(chan asking), over: over}
}

func (d *door) open() { d.Host.SetStreamHandler(askProtocol, d.accept) }

// accept answers a process until it is admitted, or goes.
func (d *door) accept(s network.Stream) {
	defer s.Reset()
	t := handshake.New(s)
	err := join.Greet(d.Peer, t)
	if err == nil {
		err = d.serve(t)
	}
	handshake.Tell(d.Refused, d.Log, "peer refused", err)
	if err != nil {
		d.Log.Debug("no newcomer", "who", handshake.Short(t.Peer), "err", err)
	}
}

// mostAsked bounds a request.
const mostAsked = 4 << 10

func (d *door) serve(t *handshake.Talk) error {
	t.Stream.SetDeadline(time.Now().Add(handshake.Timeout))
	text, err := t.Expect(handshake.AboutMember, mostAsked)
	if err != nil {
		return err
	}
	var r request
	if err := parse(text, &r); err != nil || r.Process == 0 || len(r.Address) > mostAddress {
		return t.Refuse(handshake.Refusal(handshake.Protocol, "malformed request to join"))
	}
	one := asking{council.Newcomer{Process: r.Process, Member: views.Member{Name: handshake.Printable(t.Theirs.Host),
		Key: t.Peer.String(), Address: handshake.Printable(r.Address)}}, make(chan reply, 1)}
	for {
		select {
		case d.asks <- one:
		case <-d.over:
			return nil
		}
		said := <-one.answer
		if said.no != nil {
			return t.Refuse(said.no)
		}
		text, err := json.Marshal(said.answer)
		if err != nil {
			return err
		}
		t.Stream.SetDeadline(time.Now().Add(handshake.Timeout))
		if err := t.Say(handshake.AboutMember, text); err != nil {
			return err
		}
		if said.ID != nil {
			t.Part()
			return nil
		}
		select {
		case <-time.After(asked):
		case <-d.over:
			return nil
		}
	}
}

// asked is the time between two answers.
const asked = 100 * time.Millisecond

// A guest is a process that asks to join a run.
type guest struct {
	Peer
	process uint64 // that no other one has
	// rival hears the exchange of a process that resumes the run; nil: none does.
	rival func(who peer.ID, exchange int)
}

// A Place is what the members of a run give to a newcomer.
type Place struct {
	ID      views.ID
	Members []views.Member
	Lineage uint64 // of their run
	Parent  *views.Parent
}

// ask asks one peer, which may be a member, until it gives the guest a place. It fails with a *handshake.RefusedError
// if the members do not want the guest.
func (g *guest) ask(ctx context.Context, who peer.ID) (*Place, error) {
	s, err := g.Host.Open(ctx, who, askProtocol)
	if err != nil {
		return nil, err
	}
	defer s.Reset()
	stop := context.AfterFunc(ctx, func() { s.Reset() })
	defer stop()
	t := handshake.New(s)
	if err := join.Greet(&g.Peer, t); err != nil {
		return nil, err
	}
	text, err := json.Marshal(request{g.process, addressOf(g.Host.Addrs())})
	if err != nil {
		return nil, err
	}
	if err := t.Say(handshake.AboutMember, text); err != nil {
		return nil, err
	}
	for {
		s.SetDeadline(time.Now().Add(handshake.Timeout))
		text, err := t.Expect(handshake.AboutMember, handshake.MaxMessage)
		if err != nil {
			return nil, err
		}
		var a answer
		if err := parse(text, &a); err != nil {
			return nil, t.Refuse(handshake.Refusal(handshake.Protocol, "malformed answer to a request to join"))
		}
		if a.ID != nil {
			t.Part()
			return &Place{*a.ID, a.Members, a.Lineage, a.Parent}, nil
		}
		if a.Resumes != nil && g.rival != nil {
			g.rival(who, *a.Resumes)
		}
		if a.Detail != "" && g.Said != nil {
			g.Said(0, a.Detail)
		}
	}
}

// find asks all peers that found delivers, again and again, until one of them gives a place, a member refuses the guest
// for good, or ctx ends.
func (g *guest) find(ctx context.Context, found <-chan peer.AddrInfo) (*Place, error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	places, refusals := make(chan *Place, 1), make(chan error, 1)
	sought := map[peer.ID]bool{}
	for {
		select {
		case who := <-found:
			if sought[who.ID] || len(sought) >= mostSought {
				continue
			}
			sought[who.ID] = true
			wg.Go(func() { g.seek(ctx, who, places, refusals) })
		case p := <-places:
			return p, nil
		case err := <-refusals:
			return nil, err
		case <-ctx.Done():
			return nil, fmt.Errorf("no member of the run has answered: %w", context.Cause(ctx))
		}
	}
}

// mostSought bounds the peers that a guest asks: a stranger may announce many.
const mostSought = 256

// seek asks one peer until ctx ends.
func (g *guest) seek(ctx context.Context, who peer.AddrInfo, places chan<- *Place, refusals chan<- error) {
	g.Host.Peerstore().AddAddrs(who.ID, who.Addrs[:min(len(who.Addrs), mostAddresses)], time.Hour)
	for ctx.Err() == nil {
		p, err := g.ask(ctx, who.ID)
		if p != nil {
			select {
			case places <- p:
			default:
			}
			return
		}
		if no, ok := errors.AsType[*handshake.RefusedError](err); ok && no.Permanent() {
			select {
			case refusals <- err:
			default:
			}
			return
		}
		g.Log.Debug("no place", "asked", handshake.Short(who.ID), "err", err)
		socket.Sleep(ctx, 2*socket.FirstRetry)
	}
}
