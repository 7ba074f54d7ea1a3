package socket

import (
	"context"
	"errors"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/transport"
	ma "github.com/multiformats/go-multiaddr"
)

// libp2p dials no peer to which it is connected. Connections over other routes are dialled below it, and enter it as
// those that a listener accepts.

// An entrance passes dialled connections to libp2p.
type entrance chan *dialledConn

// A dialledConn is a connection that was dialled below libp2p.
type dialledConn struct {
	transport.CapableConn
	entered chan network.Conn // has room for one
}

// As finds the connection for network.Conn.
func (c *dialledConn) As(target any) bool {
	if at, ok := target.(**dialledConn); ok {
		*at = c
		return true
	}
	return c.CapableConn.As(target)
}

// enter makes c a connection of libp2p.
func (e entrance) enter(ctx context.Context, c transport.CapableConn) (network.Conn, error) {
	d := &dialledConn{c, make(chan network.Conn, 1)}
	err := errors.New("the gate has refused the connection, or it has ended")
	select {
	case e <- d:
		select {
		case known := <-d.entered:
			return known, nil
		case <-ctx.Done():
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	c.Close()
	return nil, err
}

// entered tells enter that libp2p has a connection.
func entered(_ network.Network, c network.Conn) {
	var d *dialledConn
	if c.As(&d) {
		d.entered <- c
	}
}

// Dialled reports whether a connection was made by Dial.
func Dialled(c network.Conn) bool {
	var d *dialledConn
	return c.As(&d)
}

// An openListener accepts the connections of a listener and those of an entrance.
type openListener struct {
	transport.Listener
	entrance entrance
	accepted chan acceptance
}

type acceptance struct {
	conn transport.CapableConn
	err  error
}

// open returns a listener that also accepts dialled connections.
func (e entrance) open(l transport.Listener) transport.Listener {
	o := &openListener{l, e, make(chan acceptance, 1)}
	go func() { // ends when l is closed
		for {
			c, err := l.Accept()
			o.accepted <- acceptance{c, err}
			if err != nil {
				return
			}
		}
	}()
	return o
}

func (o *openListener) Accept() (transport.CapableConn, error) {
	select {
	case a := <-o.accepted:
		return a.conn, a.err
	case d := <-o.entrance:
		return d, nil
	}
}

// An openTransport is a transport whose listeners also accept dialled connections.
type openTransport struct {
	transport.Transport
	entrance entrance
}

// Listen begins to listen.
func (t *openTransport) Listen(at ma.Multiaddr) (transport.Listener, error) {
	l, err := t.Transport.Listen(at)
	if err != nil {
		return nil, err
	}
	return t.entrance.open(l), nil
}
