package session

import (
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/shape"
	"gossiptrainer/topology"
)

// Network turns the limits of a run file into links.
func Network(c configs.Config) (shape.Network, error) {
	uplink, err := shapedLink(c.Limit.Uplink())
	if err != nil {
		return shape.Network{}, err
	}
	network := shape.Network{Uplink: uplink, Links: make(map[[2]topology.Rank]shape.Link, len(c.Limit.Links)),
		Seed: c.Seed}
	for key, limit := range c.Limit.Links {
		i, j, err := configs.ParseLink(key)
		if err != nil {
			return shape.Network{}, err
		}
		link, err := shapedLink(limit)
		if err != nil {
			return shape.Network{}, err
		}
		network.Links[[2]topology.Rank{topology.Rank(i), topology.Rank(j)}] = link
	}
	return network, nil
}

func shapedLink(l configs.LinkLimit) (shape.Link, error) {
	bits, err := configs.ParseRate(l.Rate)
	return shape.Link{
		Rate: bits, Burst: l.Burst, Latency: time.Duration(l.Latency), Jitter: time.Duration(l.Jitter), Loss: l.Loss,
	}, err
}
