package sim

import (
	"slices"

	layers "gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/state"
)

// boundary takes a checkpoint before round k if one is due, and after the last round. Under the policy reweight no
// worker goes back, so there are none.
func (s *faultSim) boundary(p *peer, k int) {
	due := k == p.Rounds || s.Every > 0 && k%s.Every == 0 ||
		s.Period > 0 && s.now-p.taken >= s.Period || p.unkept >= growth
	if !due || p.Save == nil || s.Lost == layers.Reweight {
		return
	}
	var own *state.Snapshot
	if last := len(p.spare) - 1; last >= 0 {
		own, p.spare = p.spare[last], p.spare[:last]
	} else {
		own = new(state.Snapshot)
	}
	p.Save(own)
	p.kept = append(p.kept, checkpoint{k, own})
	p.fresh, p.taken, p.unkept = true, s.now, 0
}

// keep tells the layers of a worker about its newest checkpoint and drops the oldest ones beyond Keep. After the last
// round one is enough.
func (s *faultSim) keep(p *peer) error {
	keep := max(1, s.Keep)
	if p.kept[len(p.kept)-1].round == p.Rounds {
		keep = 1
	}
	for len(p.kept) > keep {
		p.spare = append(p.spare, p.kept[0].state)
		p.kept = slices.Delete(p.kept, 0, 1)
	}
	p.fresh = false
	return p.layer.Saved(p.kept[0].round)
}
