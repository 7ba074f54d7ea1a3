package meeting

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

const (
	// answerTime bounds the wait for the answer to one TCP connection.
	answerTime = 1500 * time.Millisecond
	// unprovenAgain is the time between two calls of a machine that has not proven the secret.
	unprovenAgain = time.Second
)

// visit calls a machine until it has been met. The smaller id leads the exchange. The greater one only greets: the
// smaller may not have heard of it, or may not be able to connect.
func (m *meeting) visit(o *other) {
	for m.ctx.Err() == nil && !m.isOver(o) {
		err, pause := m.call(o), again
		if err != nil && m.ctx.Err() == nil {
			m.failed(o, err)
		}
		if _, unproven := errors.AsType[*handshake.UnprovenError](err); unproven {
			pause = unprovenAgain
		}
		socket.Sleep(m.ctx, pause)
	}
}

func (m *meeting) isOver(o *other) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return o.over
}

// errLinked says that a try to connect was given up because the other end has connected.
var errLinked = errors.New("the other end has connected")

// call opens a stream, and leads the exchange or greets.
func (m *meeting) call(o *other) error {
	leads := m.host.ID() < o.id
	if o.greeted && !leads {
		return nil
	}
	s, err := m.dial(o, m.host.Network().Connectedness(o.id) == network.Connected)
	if err != nil {
		return err
	}
	defer context.AfterFunc(m.ctx, func() { s.Reset() })()
	defer s.Reset()
	t := handshake.New(s)
	if leads {
		return m.lead(o, t)
	}
	err = m.introduce(t)
	o.greeted = err == nil
	return err
}

// introduce exchanges only facts.
func (m *meeting) introduce(t *handshake.Talk) error {
	facts, err := m.greet(t)
	if err != nil {
		return err
	}
	m.enter(t, facts)
	t.Part()
	return nil
}

// dial opens a stream. It gives up as soon as the other end has connected.
func (m *meeting) dial(o *other, connected bool) (network.Stream, error) {
	ctx, stop := context.WithTimeout(m.ctx, attempt)
	defer stop()
	if !connected {
		var linked bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			select {
			case <-o.linked:
				linked = true
				stop()
			case <-ctx.Done():
			}
		}()
		s, err := m.host.Open(ctx, o.id, doctorProtocol)
		stop()
		<-done
		if err != nil && linked {
			return nil, errLinked
		}
		return s, err
	}
	return m.host.Open(ctx, o.id, doctorProtocol)
}

// failed notes why a machine was not met. A refusal for good ends the visits, unless a stranger may have caused it.
func (m *meeting) failed(o *other, err error) {
	if errors.Is(err, errLinked) {
		return
	}
	m.change(func() {
		refused, ok := errors.AsType[*handshake.RefusedError](err)
		if o.over || o.Met {
			return
		}
		o.Err = err
		o.over = ok && refused.Permanent()
		if twin, is := errors.AsType[*socket.TwinError](err); is {
			m.twin = twin
		}
	})
}

// serve answers a caller, which leads if its id is the smaller one.
func (m *meeting) serve(s network.Stream) {
	defer context.AfterFunc(m.ctx, func() { s.Reset() })()
	defer s.Reset()
	t := handshake.New(s)
	var err error
	if m.host.ID() < t.Peer {
		err = m.introduce(t)
	} else {
		err = m.follow(t)
	}
	if o := m.known(t.Peer); o != nil && err != nil && m.ctx.Err() == nil {
		m.failed(o, err)
	}
}

// known returns a machine that was found before, nil if id was not.
func (m *meeting) known(id peer.ID) *other {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.others[id]
}

// reachOut tries plain TCP connections to a machine until one succeeds. A libp2p connection works in both directions,
// so
// it cannot tell which end is able to make one.
func (m *meeting) reachOut(o *other) {
	if m.c.Node.Transport == socket.QUIC {
		return
	}
	for m.ctx.Err() == nil {
		best := Untested
		for _, a := range m.addresses(o) {
			if way := connectTo(m.ctx, a); best == Untested || way == Open || way == Refused && best == Silent {
				best = way
			}
		}
		if m.ctx.Err() != nil && best != Open {
			return // the try was cut short
		}
		m.change(func() { o.Out = best })
		if best == Open {
			close(o.reach)
			return
		}
		socket.Sleep(m.ctx, again)
	}
}

// addresses returns host:port of the addresses of a machine.
func (m *meeting) addresses(o *other) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for _, text := range o.Addrs {
		at, err := ma.NewMultiaddr(text)
		if err != nil {
			continue
		}
		if network, address, err := manet.DialArgs(at); err == nil && (network == "tcp4" || network == "tcp6") {
			all = append(all, address)
		}
	}
	return all
}

// connectTo makes a TCP connection to an address and closes it.
func connectTo(ctx context.Context, address string) Way {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err == nil {
		c.Close()
		return Open
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return Refused
	}
	return Silent
}
