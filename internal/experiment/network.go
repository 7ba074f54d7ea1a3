package experiment

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/shape"
	"gossiptrainer/topology"
)

// linksOf turns the limits of a run file into links. It refuses a limit on an edge that the graph does not have.
func linksOf(cfg configs.Config, graph topology.Spec, rows []topology.Sequence) (shape.Network, error) {
	uplink, err := linkOf("limit", cfg.Limit.Uplink())
	if err != nil {
		return shape.Network{}, err
	}
	network := shape.Network{
		Uplink: uplink, Links: make(map[[2]topology.Rank]shape.Link, len(cfg.Limit.Links)), Seed: cfg.Seed,
	}
	meets := func(i, j int) bool { return i < len(rows) && slices.Contains(rows[i].Neighbours(), topology.Rank(j)) }
	for _, edge := range slices.Sorted(maps.Keys(cfg.Limit.Links)) {
		key := "limit.links." + edge
		i, j, err := configs.ParseLink(edge)
		if err != nil {
			return shape.Network{}, configs.Errorf(key, "%v", err)
		}
		if !meets(i, j) {
			return shape.Network{}, configs.Errorf(key, "workers %d and %d are not neighbours in %s", i, j, graph)
		}
		link, err := linkOf(key, cfg.Limit.Links[edge])
		if err != nil {
			return shape.Network{}, err
		}
		network.Links[[2]topology.Rank{topology.Rank(i), topology.Rank(j)}] = link
	}
	return network, nil
}

// linkOf returns the link with the limit at a key.
func linkOf(key string, l configs.LinkLimit) (shape.Link, error) {
	bits, err := configs.ParseRate(l.Rate)
	if err != nil {
		return shape.Link{}, configs.Errorf(key+".rate", "%v", err)
	}
	return shape.Link{
		Rate: bits, Burst: l.Burst, Latency: time.Duration(l.Latency), Jitter: time.Duration(l.Jitter), Loss: l.Loss,
	}, nil
}

// OpenLinks is the value of node.security for links without encryption.
const OpenLinks = "none"

// checkSecurity warns of links without encryption.
func checkSecurity(r *Run) (warnings []string) {
	if r.cfg.Node.Security != OpenLinks {
		return nil
	}
	where := "loopback"
	for _, net := range r.cfg.Node.Trusted {
		where += ", " + net
	}
	return append(warnings, fmt.Sprintf("the links are not encrypted: all who are on the way can read and change models, "+
		"on %s", where))
}
