package dash

import (
	"math"
	"path/filepath"
	"time"

	"gossiptrainer/app/describe"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/explain"
	"gossiptrainer/internal/membership"
	"gossiptrainer/topology"
)

// A plan is what the run file of a run says about it. A run file that this version cannot read says nothing.
type plan struct {
	name, describe, method, graph string

	workers, rounds, every int
	local                  int                // rounds of an exchange
	open                   bool               // members come and go
	base                   topology.Spec      // then the graph of the views, whose size does not count
	uplink                 float64            // bytes a second that a worker sends at most; 0: no limit
	limits                 map[[2]int]float64 // the same of edges with limits of their own
	began                  time.Time
	facts                  explain.Facts
	drawing
}

// A drawing is the edges of a graph that a page can draw, and how it draws them.
type drawing struct {
	edges  []planned
	layout Layout
	phases [][][2]int
}

// A Layout says how the page arranges the workers.
type Layout struct {
	Kind topology.Kind `json:"kind"` // "": unknown
	Rows int           `json:"rows"` // of a torus; 0: it is none
	Cols int           `json:"cols"`
}

// A planned edge has its weight in the first mixing matrix.
type planned struct {
	a, b   int
	weight float64
}

// Bounds of the graph that a page draws.
const (
	mostEdges  = 1 << 14
	mostPhases = 32 // exchanges after which a graph repeats
)

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
	p.name, p.method, p.graph = cfg.Name, cfg.Method().String(), cfg.Topology.Kind
	p.workers, p.rounds, p.every = cfg.Topology.Size, cfg.Train.Rounds.Known(), cfg.Output.Every
	p.local, p.open, p.facts = cfg.Algorithm.LocalSteps, cfg.Views(), runfolder.Facts(cfg)
	run, err := experiment.New(cfg)
	if err != nil { // its data may be on another machine
		return p
	}
	shown := describe.Live(run)
	p.describe, p.method, p.graph = describe.Run(run), shown.Method, shown.Topology
	p.workers, p.rounds, p.facts.Workers = run.N(), shown.Rounds, run.N()
	p.drawing = drawingOf(run.Graph())
	if p.open {
		p.base = membership.Base(run)
	}
	network := run.Network()
	p.uplink, p.limits = network.Uplink.Rate/bitsPerByte, map[[2]int]float64{}
	for ends, link := range network.Links {
		p.limits[[2]int{int(ends[0]), int(ends[1])}] = link.Rate / bitsPerByte
	}
	return p
}

// drawingOf returns the edges of a graph, none of one that is too large.
func drawingOf(g *topology.Graph) (d drawing) {
	all := g.Edges()
	if len(all) > mostEdges {
		return d
	}
	spec := g.Spec()
	d.layout, d.phases = Layout{spec.Kind, spec.Rows, spec.Cols}, phasesOf(g)
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
		d.edges = append(d.edges, planned{ends[0], ends[1], weight})
	}
	return d
}

// phasesOf returns the edges of each exchange of a graph that changes and repeats, nil of other graphs. Edges of a
// directed graph lead from the first worker to the second, and others have the smaller rank first.
func phasesOf(g *topology.Graph) (phases [][][2]int) {
	if n := g.Period(); n < 2 || n > mostPhases {
		return nil
	}
	for s := range g.Period() {
		edges := [][2]int{}
		for i, row := range g.Rows(s) {
			for _, to := range row.Out {
				if !g.Symmetric() || i < int(to) {
					edges = append(edges, [2]int{i, int(to)})
				}
			}
		}
		phases = append(phases, edges)
	}
	return phases
}
