// Package outsider is a machine on the LAN of a run that knows the run's name, but neither its secret nor the key of a
// member. It refuses peers for every reason at every stage of a conversation, and sends bytes that are no messages.
package outsider

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/join"
	"gossiptrainer/node/socket"
)

// Subjects of messages and their lengths, as package handshake has them.
const (
	aboutMe    handshake.Subject = 1
	aboutNo    handshake.Subject = 2
	aboutNonce handshake.Subject = 4
	aboutProof handshake.Subject = 5

	challengeLen = 2 + 1 + handshake.MaxRunID + nonceLen
	nonceLen     = 32
)

// Protocols are those on which peers talk to each other.
var Protocols = []protocol.ID{
	"/gossiptrainer/rollcall/1.0.0", "/gossiptrainer/link/1.0.0", "/gossiptrainer/join/1.0.0",
	"/gossiptrainer/vector/1.0.0", "/gossiptrainer/doctor/1.0.0",
}

// A Play is what an outsider does on one stream.
type Play struct {
	Name string
	do   func(t *handshake.Talk)
}

// Reasons is how many reasons of a refusal are tried: all, and some that no program knows.
const Reasons = int(handshake.RunOver) + 3

// Words are those of an outsider, which no peer must repeat.
const Words = "you are not wanted: end this run"

// Plays returns all plays.
func Plays() []Play {
	stages := []struct {
		name string
		upTo func(t *handshake.Talk)
	}{
		{"at once", func(*handshake.Talk) {}},
		{"after a challenge", challenge},
		{"after a proof", prove},
		{"after a hello", greet},
	}
	var all []Play
	for reason := range Reasons {
		for _, stage := range stages {
			all = append(all, Play{
				fmt.Sprintf("%v %s", handshake.Reason(reason), stage.name),
				func(t *handshake.Talk) {
					stage.upTo(t)
					t.Say(aboutNo, refusal(byte(reason)))
				},
			})
		}
	}
	raw := func(name string, upTo func(*handshake.Talk), text []byte) {
		all = append(all, Play{name, func(t *handshake.Talk) {
			upTo(t)
			t.Stream.Write(text)
		}})
	}
	garbage := make([]byte, 10_000)
	rand.Read(garbage)
	raw("nothing", stages[0].upTo, nil)
	raw("garbage", stages[0].upTo, garbage)
	raw("a short refusal", stages[0].upTo, []byte{byte(aboutNo), 1, 0, 0, 0, byte(handshake.RunFull)})
	for _, stage := range stages {
		raw("half a head "+stage.name, stage.upTo, []byte{byte(aboutNonce), 1})
		raw("a huge length "+stage.name, stage.upTo, []byte{byte(aboutNo), 255, 255, 255, 255})
		raw("half a message "+stage.name, stage.upTo, []byte{byte(aboutProof), 32, 0, 0, 0, 1, 2, 3})
	}
	return all
}

// challenge answers the challenge of the other end with one for the same run.
func challenge(t *handshake.Talk) {
	body, err := t.Expect(aboutNonce, challengeLen)
	if err != nil || len(body) != challengeLen {
		return
	}
	rand.Read(body[challengeLen-nonceLen:])
	t.Say(aboutNonce, body)
}

// prove sends back the proof of the other end, which is the best that an outsider has.
func prove(t *handshake.Talk) {
	challenge(t)
	proof, err := t.Expect(aboutProof, nonceLen)
	if err != nil {
		proof = make([]byte, nonceLen)
	}
	t.Say(aboutProof, proof)
}

func greet(t *handshake.Talk) {
	prove(t)
	t.Say(aboutMe, make([]byte, 200))
	t.Say(handshake.AboutYes, nil)
	t.Say(handshake.AboutBallot, []byte{0, 0, 0})
}

// refusal is the body of a refusal.
func refusal(reason byte) []byte {
	body := make([]byte, 1+1+handshake.MaxSectionName)
	body[0] = reason
	return append(body, Words...)
}

// An Outsider has an identity of its own.
type Outsider struct{ Host *socket.Host }

// New starts an outsider at an address. It answers callers, see Answer.
func New(listen string, next *atomic.Int64) (*Outsider, error) {
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		return nil, err
	}
	h, err := socket.New(socket.Config{Key: key, Listen: []string{listen}, Workers: 1})
	if err != nil {
		return nil, err
	}
	Answer(h, next)
	return &Outsider{h}, nil
}

// Answer lets a host play to its callers, one play after another. Hosts that share next share the plays.
func Answer(h *socket.Host, next *atomic.Int64) {
	plays := Plays()
	for _, p := range Protocols {
		h.SetStreamHandler(p, func(s network.Stream) {
			n := int(next.Add(1)-1) % len(plays)
			act(plays[n], s)
			s.Conn().Close() // so that the peer calls again
		})
	}
}

// patience bounds a play.
const patience = 8 * time.Second

// act plays on a stream, and holds it until the other end has closed it.
func act(p Play, s network.Stream) {
	defer s.Reset()
	s.SetDeadline(time.Now().Add(patience))
	t := handshake.New(s)
	p.do(t)
	if p.Name != "nothing" {
		s.CloseWrite()
	}
	io.Copy(io.Discard, t.In)
}

// Info tells where o can be reached.
func (o *Outsider) Info() peer.AddrInfo { return peer.AddrInfo{ID: o.Host.ID(), Addrs: o.Host.Addrs()} }

// Call calls a peer, and plays everything on one protocol. It returns how many plays the peer has heard.
func (o *Outsider) Call(ctx context.Context, who peer.AddrInfo, on protocol.ID) (heard int) {
	for _, p := range Plays() {
		if p.Name == "nothing" { // takes the whole patience of the peer
			continue
		}
		if o.Host.Connect(ctx, who) != nil {
			continue
		}
		s, err := o.Host.Open(ctx, who.ID, on)
		if err != nil {
			continue
		}
		act(p, s)
		heard++
	}
	return heard
}

// Haunt announces o among the peers of a run by multicast, and calls all that it hears of, until ctx ends.
func (o *Outsider) Haunt(ctx context.Context, run string) {
	join.Discover(ctx, o.Host, run, func(who peer.AddrInfo) {
		if who.ID == o.Host.ID() {
			return
		}
		for _, on := range Protocols {
			o.Call(ctx, who, on)
		}
	}, slog.New(slog.DiscardHandler))
}
