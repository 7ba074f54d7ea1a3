package gossiptrainer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"gossiptrainer/internal/work"
	driver "gossiptrainer/node"
)

// A Network says how a worker reaches the others. With a Secret alone it listens on all interfaces and
// finds the others by multicast DNS. The zero value trains with processes on this machine.
type Network struct {
	// Secret keeps strangers out: only peers that know it take part. It has at least 128 random bits,
	// such as 32 hexadecimal digits; Train refuses secrets that are easy to guess. Without a secret, a
	// worker listens on the loopback interface alone, and all processes there may take part or end the run.
	Secret string
	// Listen has the multiaddrs to listen at, such as /ip4/192.168.1.7/tcp/4001. Empty stands for free
	// ports on all interfaces, or on the loopback interface without a secret. Without a secret every
	// address must be a loopback address.
	Listen []string
	// Peers has addresses of other workers, such as
	// /ip4/192.168.1.7/tcp/4001/p2p/12D3KooW…, for networks without multicast.
	// Of two workers one has to know the other, or multicast has to reach it.
	Peers []string
	// Listening, if not nil, receives this worker's addresses, in the form that Peers takes, before
	// Train looks for the others.
	Listening func(addrs []string)
	Logger    *slog.Logger // nil: silent
}

// Train runs one worker of the run t on objective o. It waits until all workers are there, trains, and
// returns when neither this worker nor a neighbour needs the other any more. The ranks depend on the
// peers' ids, which are new in every process.
//
// A peer whose Run, Workers, Rounds, Graph, Start or dimension differs is refused.
// The run ends for all workers with an error if one of them fails or is
// unreachable for 10 seconds. If ctx ends, the error wraps its cause.
func Train(ctx context.Context, t Training, o Objective) (r Result, err error) {
	p, err := newPlan(t, o.Dim())
	if err != nil {
		return Result{}, err
	}
	if _, err := p.machine(0); err != nil { // fails before others wait for this worker
		return Result{}, err
	}
	options, err := p.options()
	if err != nil {
		return Result{}, err
	}
	n, err := driver.New(options)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if tell := t.Network.Listening; tell != nil {
		var addrs []string
		for _, a := range n.Addrs() {
			addrs = append(addrs, a+"/p2p/"+n.ID())
		}
		tell(addrs)
	}
	rank, err := n.Join(ctx)
	if err != nil {
		return Result{}, err
	}
	m, err := p.machine(rank)
	if err != nil {
		return Result{}, err
	}
	_, err = n.Run(ctx, driver.Worker{
		Task: work.Task{
			Rank: rank, Rows: p.graph.Sequence(rank), Machine: m, Gradient: p.watched(rank, o), Rounds: p.Rounds,
			MaxPayload: 8*p.dim + 4<<10,
		},
		Lost: driver.Fail,
	})
	return result(rank, m), err
}

// options returns the settings of the peer that runs a worker of p.
func (p *plan) options() (driver.Options, error) {
	shared, err := p.shared()
	if err != nil {
		return driver.Options{}, fmt.Errorf("node: %w", err)
	}
	o := driver.Options{
		RunID: p.Run, Sections: []driver.Section{{Name: "training", JSON: shared}}, N: p.Workers, Dim: p.dim,
		JoinSecret: p.Network.Secret, Logger: p.Network.Logger,
	}
	if o.Listen, err = p.Network.listen(); err != nil {
		return o, err
	}
	for _, address := range p.Network.Peers {
		info, err := peer.AddrInfoFromString(address)
		if err != nil {
			return o, fmt.Errorf("node: Network.Peers: %q: %w: want an address that ends in /p2p/ and an id", address, err)
		}
		o.Contacts = append(o.Contacts, *info)
	}
	return o, nil
}

// listen returns the addresses to listen at: without a secret, those that no other machine reaches.
func (n Network) listen() ([]string, error) {
	if n.Secret != "" {
		return n.Listen, nil
	}
	if len(n.Listen) == 0 {
		return []string{"/ip4/127.0.0.1/tcp/0"}, nil
	}
	for _, address := range n.Listen {
		at, err := multiaddr.NewMultiaddr(address)
		if err != nil {
			return nil, fmt.Errorf("node: Network.Listen: %q: %w", address, err)
		}
		if !manet.IsIPLoopback(at) {
			return nil, fmt.Errorf("node: Network.Listen: %s: other machines reach it: set Network.Secret, "+
				"the same for all workers, or listen at a loopback address", address)
		}
	}
	return n.Listen, nil
}
