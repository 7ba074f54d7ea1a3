package dash

import (
	"math"
	"path/filepath"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/inspect"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/topology"
)

// A plan is what the run file of a run says about it. A run file that this version cannot read says nothing.
type plan struct {
	name, describe, algorithm, graph string

	workers, rounds, every int
	edges                  []planned
	uplink                 float64            // bytes a second that a worker sends at most; 0: no limit
	limits                 map[[2]int]float64 // the same of edges with limits of their own
	began                  time.Time
}

// A planned edge has its weight in the first mixing matrix.
type planned struct {
	a, b   int
	weight float64
}

// mostEdges bounds the edges that a page draws.
const mostEdges = 1 << 14

// bitsPerByte turns rates of run files into bytes a second.
const bitsPerByte = 8

// planOf reads the run file in a folder.
func planOf(place runfolder.Place) plan {
	p := plan{name: place.Name}
	p.began, _ = runfolder.Began(place.Dir)
	loaded, err := configs.Load(configs.Source{File: filepath.Join(place.Dir, runfolder.RunFile)})
	if err != nil {
		return p
	}
	cfg := loaded.Config
	p.name, p.algorithm, p.graph = cfg.Name, cfg.Algorithm.Name, cfg.Topology.Kind
	p.workers, p.rounds, p.every = cfg.Topology.Size, cfg.Train.Rounds, cfg.Output.Every
	run, err := experiment.New(cfg)
	if err != nil { // its data may be on another machine
		return p
	}
	shown := inspect.Live(run)
	p.describe, p.algorithm, p.graph = inspect.Describe(run), shown.Algorithm, shown.Topology
	p.workers, p.rounds = run.N(), shown.Rounds
	p.draw(run.Graph())
	network := run.Network()
	p.uplink, p.limits = network.Uplink.Rate/bitsPerByte, map[[2]int]float64{}
	for ends, link := range network.Links {
		p.limits[[2]int{int(ends[0]), int(ends[1])}] = link.Rate / bitsPerByte
	}
	return p
}

// draw takes the edges of a graph that a page can draw.
func (p *plan) draw(g *topology.Graph) {
	all := g.Edges()
	if len(all) > mostEdges {
		return
	}
	weights := map[[2]int]float64{}
	for i := range g.N() {
		for _, e := range g.Row(topology.Rank(i), 0).In {
			weights[[2]int{min(i, int(e.Peer)), max(i, int(e.Peer))}] = e.Weight
		}
	}
	for _, e := range all {
		ends := [2]int{int(e[0]), int(e[1])}
		weight, ok := weights[ends]
		if !ok { // they meet in a later exchange
			weight = math.Inf(1)
		}
		p.edges = append(p.edges, planned{ends[0], ends[1], weight})
	}
}
