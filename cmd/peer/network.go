package main

import (
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/sim"
	"gossiptrainer/topology"
)

// modelNetwork turns the limits of a run file into the simulator's links.
func modelNetwork(l configs.Limit) (sim.Network, error) {
	uplink, err := modelLink(l.Rate, l.Latency)
	if err != nil {
		return sim.Network{}, err
	}
	network := sim.Network{Uplink: uplink, Links: make(map[[2]topology.Rank]sim.Link, len(l.Links))}
	for key, limit := range l.Links {
		i, j, err := configs.ParseLink(key)
		if err != nil {
			return sim.Network{}, err
		}
		link, err := modelLink(limit.Rate, limit.Latency)
		if err != nil {
			return sim.Network{}, err
		}
		network.Links[[2]topology.Rank{topology.Rank(i), topology.Rank(j)}] = link
	}
	return network, nil
}

func modelLink(rate string, latency configs.Duration) (sim.Link, error) {
	bits, err := configs.ParseRate(rate)
	return sim.Link{Rate: bits, Latency: time.Duration(latency)}, err
}

// isLimited reports whether a run file asks for limits.
func isLimited(l configs.Limit) bool { return l.Rate != "" || l.Latency != 0 || len(l.Links) > 0 }
