package handover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

const (
	retryTime = 300 * time.Millisecond
	offerTime = 20 * time.Second // bounds the handshake and the offer, after the connection
)

// An UnreachableError says that the machine that made a token does not answer.
type UnreachableError struct {
	At    string // its addresses
	Cause string
	Ended time.Time // when the token has expired, by the clock of this machine; zero if it has not
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("join: no machine answers this token at %s: %s", e.At, e.Cause)
}

// Hint says what to do.
func (e *UnreachableError) Hint() string {
	const again = "peer invite FILE on the machine that made it makes another"
	if !e.Ended.IsZero() {
		return "the token has expired at " + e.Ended.Format("15:04:05") + " by the clock of this machine: " + again
	}
	return "the token may have been used up or its invitation ended: " + again + "; or a firewall is on the way there: " +
		"--port of peer invite fixes the port that it must let in"
}

// A Visitor is this machine, in the words of its request.
type Visitor struct {
	Host    string
	Program Program
	Port    int // for its links, if the run lists addresses
}

// A Visit is a conversation with the machine that made a token.
type Visit struct {
	Offer Offer
	From  string // name and id of that machine

	t     *handshake.Talk
	leave func() bool
}

// Visit calls the machine that made a token and returns what it offers. The error is an *UnreachableError if that
// machine does not answer, and a *handshake.RefusedError if it refuses. It is a *handshake.UnprovenError if the key of
// the token is another one; the connection has verified the id in the token. The caller must Close the visit.
func (p *Presence) Visit(ctx context.Context, to Token, as Visitor) (*Visit, error) {
	var addrs []ma.Multiaddr
	for _, ip := range to.Addrs {
		at, err := manet.FromNetAddr(net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, to.Port)))
		if err == nil {
			addrs = append(addrs, at)
		}
	}
	p.host.Peerstore().AddAddrs(to.Inviter, addrs, peerstore.PermanentAddrTTL)
	heard := p.await(to.Inviter)
	s, err := p.reach(ctx, to.Inviter)
	if err != nil {
		return nil, unreachable(ctx, to, socket.Cause(err))
	}
	request := request{Program: as.Program, Port: as.Port, Heard: p.hears(ctx, heard)}
	v := &Visit{t: handshake.New(s), leave: context.AfterFunc(ctx, func() { s.Reset() })}
	if err := v.begin(admissionOf(p.host.ID(), to), as.Host, request); err != nil {
		v.Close()
		_, refused := errors.AsType[*handshake.RefusedError](err)
		if _, unproven := errors.AsType[*handshake.UnprovenError](err); refused || unproven {
			return nil, err
		}
		return nil, unreachable(ctx, to, err.Error())
	}
	return v, nil
}

func unreachable(ctx context.Context, to Token, why string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var at []string
	for _, ip := range to.Addrs {
		at = append(at, net.JoinHostPort(ip.String(), strconv.Itoa(int(to.Port))))
	}
	e := &UnreachableError{At: strings.Join(at, ", "), Cause: why}
	if time.Now().After(to.Expires) {
		e.Ended = to.Expires
	}
	return e
}

// reach connects to the host, and opens a stream. Multicast may tell other addresses than those in the token.
func (p *Presence) reach(ctx context.Context, id peer.ID) (network.Stream, error) {
	ctx, stop := context.WithTimeout(ctx, p.wait.reach)
	defer stop()
	for {
		s, err := p.host.Open(ctx, id, inviteProtocol)
		if err == nil || !socket.Sleep(ctx, retryTime) {
			return s, err
		}
	}
}

// hears reports whether the multicast of the host arrives.
func (p *Presence) hears(ctx context.Context, heard <-chan struct{}) bool {
	late := time.NewTimer(p.wait.hear)
	defer late.Stop()
	select {
	case <-heard:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

// begin proves the key of the token, requests and reads the offer.
func (v *Visit) begin(a handshake.Admission, host string, r request) error {
	accept := func(handshake.Hello) *handshake.RefusedError { return nil }
	if err := v.t.Greet(&a, helloOf(host), accept); err != nil {
		if no, ok := errors.AsType[*handshake.UnprovenError](err); ok && no.Reason == handshake.OtherSecret {
			no.Detail, no.Advice = "the key of the token is not that of the invitation", "peer invite FILE there makes another"
		}
		return err
	}
	v.From = handshake.MachineName(v.t.Theirs.Host, handshake.Short(v.t.Peer))
	v.t.Stream.SetDeadline(time.Now().Add(offerTime))
	if err := say(v.t, aboutRequest, r); err != nil {
		return err
	}
	body, err := v.t.Expect(aboutOffer, mostOffer)
	if err != nil {
		return err
	}
	if v.Offer, err = parseOffer(body); err != nil {
		return err
	}
	return v.t.Stream.SetDeadline(time.Time{})
}

// Accept takes the offer and waits for the grant, which may need all other machines. The caller writes the files, and
// calls Finish or Refuse.
func (v *Visit) Accept() (Grant, error) {
	if err := v.t.Say(aboutReady, nil); err != nil {
		return Grant{}, err
	}
	body, err := v.t.Expect(aboutGrant, mostOffer)
	if err != nil {
		return Grant{}, err
	}
	return parseGrant(body)
}

// Finish tells the host that the files are written. It returns when the host knows.
func (v *Visit) Finish() error {
	if err := v.t.Say(aboutDone, nil); err != nil {
		return err
	}
	v.t.Part()
	return nil
}

// Refuse tells the host why this machine does not take part, in place of Accept or Finish.
func (v *Visit) Refuse(why error) {
	text := strings.ReplaceAll(why.Error(), "\n", "; ")
	v.t.Refuse(handshake.Refusal(handshake.OtherSection, "%s", text))
}

// Close ends the visit.
func (v *Visit) Close() {
	v.leave()
	v.t.Stream.Close()
}
