// Package peer runs one peer of a run as a process, on a LAN or under a supervisor. The peer has its own key, secret
// and data, joins the others, and trains up to its result.
//
// The package reads no flags, and prints only messages to the user.
//
// It also runs all peers of a lab as processes of this machine: how each one is started, also after a death, and
// without which ones the run goes on. It collects their models. Package fleet supervises the processes.
package peer

import (
	"context"
	"errors"

	"gossiptrainer/internal/fleet"
	"gossiptrainer/node"
)

// Meet starts a node on a free port of this machine and joins the other peers, whose addresses the supervisor has. It
// overrides the roster and the addresses of o. The caller must Close the node.
func Meet(ctx context.Context, client *fleet.Client, o node.Options) (*node.Node, error) {
	o.Roster, o.Listen = nil, []string{loopback(o.Transport)}
	n, err := node.New(o)
	if err != nil {
		return nil, err
	}
	if err := introduce(ctx, client, n); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func introduce(ctx context.Context, client *fleet.Client, n *node.Node) error {
	contacts, err := client.Introduce(ctx, fleet.Contact{ID: n.ID(), Addrs: n.Addrs()})
	if err != nil {
		return err
	}
	roster := make([]node.Peer, len(contacts))
	for i, contact := range contacts {
		roster[i] = node.Peer(contact)
	}
	if err := n.SetRoster(roster); err != nil {
		return err
	}
	_, err = n.Join(ctx)
	return err
}

// loopback returns an address of this machine with a free port.
func loopback(transport string) string {
	if transport == node.QUIC {
		return "/ip4/127.0.0.1/udp/0/quic-v1"
	}
	return "/ip4/127.0.0.1/tcp/0"
}
