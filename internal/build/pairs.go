package build

import (
	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/topology"
)

// A PairEntry is the place of a member in a run whose members come and go, and meet in pairs.
type PairEntry struct {
	ID     topology.Rank // the address of its noise and its mini-batches
	Rows   topology.Sequence
	Shard  data.Set
	Census gossip.PairPlace
	State  *state.Snapshot // of the sponsor; nil: the member is a founder, or Before is there
	Before *Member         // the member in the view before, whose machine goes on; nil: none
}

// EnterPair makes a member at its place. The run is that of as many workers as the view has members.
func EnterPair(r *experiment.Run, e PairEntry) (*Member, error) {
	b := newBuilder(r, e.ID, e.Rows)
	saved, before := e.State, e.Before
	if before != nil {
		saved = &state.Snapshot{}
		before.Save(saved)
	}
	objective, oracle, x, err := taskOf(b, e.Shard, saved)
	if err == nil && saved != nil {
		err = saved.Load("oracle", oracle)
	}
	if err != nil {
		return nil, err
	}
	m := &Member{oracle: oracle, objective: objective, builder: b, g: make([]float32, len(x))}
	if before != nil {
		m.machine, m.control, m.loss = before.machine, before.control, before.loss
		return m, nil
	}
	parts, err := b.parts(x)
	if err != nil {
		return nil, err
	}
	if parts.Link, err = m.links(saved); err != nil {
		return nil, err
	}
	cfg := r.Config()
	plan := gossip.PairPlan{Workers: len(e.Census.Empty), Rounds: int(cfg.Train.Rounds), Seed: cfg.Seed, Serve: true}
	w, err := gossip.EnterPair(e.ID, b.method.Pair(parts), plan, e.Census, e.State)
	m.machine = w
	return m, err
}

// links returns the codecs of the links of a member, which it makes when the members meet. A newcomer goes on with the
// bound of its sponsor.
func (m *Member) links(saved *state.Snapshot) (func(topology.Rank) algos.Codec, error) {
	b, all := m.builder, map[topology.Rank]algos.Codec{}
	if b.run.Modulo() == nil {
		return func(topology.Rank) algos.Codec { return algos.Full{} }, nil
	}
	var err error
	if m.control, err = b.run.Modulo().PairControl(); err != nil {
		return nil, err
	}
	if saved != nil {
		if err = saved.Load("theta", m.control); err != nil {
			return nil, err
		}
	}
	return func(peer topology.Rank) algos.Codec {
		if all[peer] == nil {
			c, err := b.run.Modulo().Link(peer, m.control, b.place())
			if err != nil {
				panic("internal error: build: " + err.Error()) // modulo.Maker.Choose has made one
			}
			all[peer] = c
		}
		return all[peer]
	}, nil
}

// Pair returns the machine of a member whose workers meet in pairs, nil of another.
func (m *Member) Pair() *gossip.PairWorker {
	w, _ := m.machine.(*gossip.PairWorker)
	return w
}
