package peer

import (
	"math"
	"time"

	"gossiptrainer/gossip"
	layerstate "gossiptrainer/gossip/state"
	"gossiptrainer/topology"
)

// A simulation goes on with the layers as they were. It needs no machine here: see gossip.CallLog.

// Rests reports whether all layers have said all.
func (p *Peer) Rests() bool { return p.say.Empty() && p.err == nil && gossip.Rests(p.Layer) }

// State shows the neighbours, the times and the activity, and the layers inside.
func (p *Peer) State(v *layerstate.Visit) {
	v.Part("inside", p.Layer)
	layerstate.Items(v, "peer", &p.peers, func(name string, n *neighbour) { v.Part(name, n) })
	for _, at := range []struct {
		name string
		of   *time.Duration
	}{{"now", &p.clock.now}, {"looked", &p.clock.looked}, {"progress", &p.clock.progress}, {"noted", &p.clock.noted}} {
		layerstate.Int(v, at.name, at.of, 0, math.MaxInt64)
	}
	layerstate.Int(v, "work", &p.work, training, settled)
	layerstate.Items(v, "wait", &p.wait, func(name string, r *topology.Rank) {
		layerstate.Int(v, name, r, 0, math.MaxInt)
	})
}

// State shows the link to a neighbour.
func (n *neighbour) State(v *layerstate.Visit) {
	layerstate.Int(v, "rank", &n.rank, 0, math.MaxInt)
	layerstate.Int(v, "state", &n.state, unmet, sought)
	layerstate.Int(v, "since", &n.since, 0, math.MaxInt64)
}
