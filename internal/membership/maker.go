// Package membership makes the workers of a run whose members come and go: for a process with one member, and for a
// replay of all. It opens no link.
package membership

import (
	"sync"

	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/pairs"
	"gossiptrainer/gossip/retrace"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/modulo"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/work"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A Maker makes the members of a run in their views. It is a retrace.Maker.
type Maker struct {
	// Before is called by the goroutine that computes a gradient, before that of round k at x; nil: nothing is.
	Before func(m *build.Member, k int, x []float32) error
	// Enters is called with the place of each member before it is made; nil: nothing is.
	Enters func(p retrace.Place)

	run    *experiment.Run
	runs   map[int]*experiment.Run // by number of workers
	shards map[int][]data.Set      // by number of workers
	owned  map[view.ID]*owned      // by member, where each has files of its own
	theta  *modulo.Certificates

	mu     sync.Mutex
	latest map[view.ID]*build.Member
}

// NewMaker returns the maker of a run. It fails if members cannot come and go.
func NewMaker(run *experiment.Run) (*Maker, error) {
	if cfg := run.Config(); !cfg.Views() {
		return nil, configs.Errorf("membership.mode", "fixed: members do not come and go: set it to view")
	}
	theta, err := run.Modulo().Certificates()
	return &Maker{run: run, runs: map[int]*experiment.Run{run.N(): run}, shards: map[int][]data.Set{}, theta: theta,
		owned: map[view.ID]*owned{}, latest: map[view.ID]*build.Member{}}, err
}

// Certain returns what says whether a record leaves a certificate of θ, nil if none is needed.
func (m *Maker) Certain() council.Certain {
	if m.theta == nil {
		return nil
	}
	return m.theta.Certain
}

// Run returns the run of the founders.
func (m *Maker) Run() *experiment.Run { return m.run }

// Plan returns the plan of the run.
func (m *Maker) Plan() retrace.Plan {
	cfg := m.run.Config()
	return retrace.Plan{Rounds: int(cfg.Train.Rounds), Every: cfg.Algorithm.LocalSteps,
		Together: build.Gathering(m.run)}
}

// Base returns the graph of the run without a size.
func (m *Maker) Base() topology.Spec { return Base(m.run) }

// Base returns the graph of the views of a run, whose size does not count. An all-reduce needs all of
// them.
func Base(run *experiment.Run) topology.Spec {
	if build.Gathering(run) != nil {
		return topology.Spec{Kind: topology.Complete, Slack: 1}
	}
	return run.Graph().Spec()
}

// Enter makes a member. Its shard is that of a run with as many workers as the view has members.
func (m *Maker) Enter(p retrace.Place) (retrace.Member, error) {
	if m.Enters != nil {
		m.Enters(p)
	}
	run, shard, err := m.part(p.Log, p.View, p.ID, p.Rank)
	if err != nil {
		return nil, err
	}
	made, err := build.Enter(run, build.Entry{Log: p.Log, View: p.View, Theta: m.theta, ID: p.ID, Rank: p.Rank,
		Seat: p.Seat, Workers: p.Workers, Rows: p.Rows, Shard: shard, Rounds: p.Rounds, Entrance: p.Entrance,
		Before: m.Latest(p.ID)})
	if err != nil {
		return nil, err
	}
	return m.enter(p.ID, made), nil
}

// Pairs returns the maker of members that meet in pairs.
func (m *Maker) Pairs() pairs.Maker { return pairMaker{m} }

type pairMaker struct{ *Maker }

// Enter makes a member, or gives the one before another shard.
func (m pairMaker) Enter(p pairs.Place) (pairs.Worker, error) {
	run, shard, err := m.part(p.Log, p.View, p.ID, p.Rank)
	if err != nil {
		return nil, err
	}
	e := build.PairEntry{ID: p.ID, Rows: view.Rows{Log: p.Log, View: p.View, ID: p.ID}, Shard: shard,
		Census: p.Census, State: p.State}
	if p.Before != nil {
		e.Before = m.Latest(p.ID)
	}
	made, err := build.EnterPair(run, e)
	if err != nil {
		return nil, err
	}
	return m.enter(p.ID, made), nil
}

// enter notes the worker of a member.
func (m *Maker) enter(id view.ID, made *build.Member) *watched {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest[id] = made
	return &watched{made, m.Before}
}

// part returns the run of as many workers as a view has members, and the data of one of them.
func (m *Maker) part(log *view.Log, v int, id view.ID, rank int) (*experiment.Run, data.Set, error) {
	run, err := m.resized(len(log.At(v).Members))
	if err != nil {
		return nil, data.Set{}, err
	}
	if run.Data().Local() {
		return m.own(run, log, id)
	}
	shard, err := m.shard(run, rank)
	return run, shard, err
}

// shard returns the data of a worker of a run.
func (m *Maker) shard(run *experiment.Run, rank int) (own data.Set, err error) {
	n := run.N()
	if run.Data() == nil {
		return own, nil
	}
	if m.shards[n] == nil {
		if m.shards[n], err = run.Data().Shards(n); err != nil {
			return own, err
		}
	}
	return m.shards[n][rank], nil
}

// A watched member calls a function before each gradient.
type watched struct {
	*build.Member
	before func(m *build.Member, k int, x []float32) error // nil: none
}

// Gradient is Gradient of the member.
func (w *watched) Gradient(k int, x []float32) ([]float32, float32, error) {
	if w.before != nil {
		if err := w.before(w.Member, k, x); err != nil {
			return nil, 0, err
		}
	}
	return w.Member.Gradient(k, x)
}

// resized returns the run of n workers.
func (m *Maker) resized(n int) (*experiment.Run, error) {
	if m.runs[n] == nil {
		var err error
		if m.runs[n], err = experiment.Resized(m.run, n); err != nil {
			return nil, err
		}
	}
	return m.runs[n], nil
}

// Latest returns the worker of a member in its last view, nil if it never entered one.
func (m *Maker) Latest(id view.ID) *build.Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.latest[id]
}

// Coding says how a member codes its messages.
func (m *Maker) Coding(self func() view.ID) work.Coding {
	by, err := entropy.Parse(m.run.Config().Wire.Entropy)
	if err != nil {
		panic("internal error: membership: " + err.Error()) // experiment.New has parsed it
	}
	return work.Coding{Entropy: by, Layout: func(f gossip.Frame) quant.Layout {
		if w := m.Latest(self()); w != nil {
			return w.Layout(f)
		}
		return quant.Bytes(len(f.Payload)) // a newcomer passes it on for another member
	}}
}

// Told returns the views of a log for people.
func Told(log *view.Log) []record.Membership {
	var all []record.Membership
	for v := range log.Len() {
		all = append(all, Noted(*log.At(v)))
	}
	return all
}

// Noted returns a view for the record of a run.
func Noted(r view.Record) record.Membership {
	m := record.Membership{View: r.View, First: r.First, Why: r.Why}
	named := false
	for _, member := range r.Members {
		m.Members, m.Names = append(m.Members, int(member.ID)), append(m.Names, member.Name)
		named = named || member.Name != ""
	}
	if !named {
		m.Names = nil
	}
	for _, death := range r.Dead {
		m.Dead = append(m.Dead, int(death.ID))
	}
	return m
}
