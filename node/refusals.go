package node

import (
	"maps"
	"sync"

	"gossiptrainer/node/link"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

// refusals count refused frames and peers, and refused frames by the neighbour that sent them.
type refusals struct {
	socket.Refusals
	mu sync.Mutex
	of map[topology.Rank]map[string]int64 // frames, by neighbour and reason
}

// frame counts a frame that was refused with err, and returns err.
func (r *refusals) frame(err error) error {
	r.Count(link.Reason(err))
	return err
}

// blame counts an offence against a neighbour, besides the total.
func (r *refusals) blame(rank topology.Rank, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = make(map[topology.Rank]map[string]int64)
	}
	if r.of[rank] == nil {
		r.of[rank] = make(map[string]int64)
	}
	r.of[rank][reason]++
}

// blamed returns the offences counted against neighbours.
func (r *refusals) blamed() map[topology.Rank]map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[topology.Rank]map[string]int64, len(r.of))
	for rank, by := range r.of {
		all[rank] = maps.Clone(by)
	}
	return all
}
