package gossip_test

import (
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/state"
	"gossiptrainer/topology"
)

// rejoin brings a worker that has died back as another process, as soon as
// somebody takes it.
func (w *world) rejoin(rank topology.Rank, rounds int) {
	old := w.workers[rank]
	if !old.dead || w.joining[rank] {
		return
	}
	for _, sponsor := range w.workers {
		from := sponsor.Next() + 1
		if sponsor.dead || sponsor.done || from >= rounds || sponsor.inviting || !sponsor.member.Host(rank, from, w.now) {
			continue
		}
		sponsor.inviting, w.joining[rank] = true, true
		edge := topology.Edge{Peer: rank, Weight: sponsor.member.Weight()}
		if err := sponsor.Open(edge, from); err != nil {
			w.t.Fatal(err)
		}
		sponsor.AtBoundary(func(k int) {
			if k != from {
				return
			}
			sponsor.inviting = false
			var s state.Snapshot
			s.Save("machine", sponsor.Worker)
			w.after(w.delay("copy", 300*time.Millisecond), func() { w.begin(old, sponsor, from, rounds, &s) })
		})
		return
	}
	if w.now < time.Minute {
		w.after(300*time.Millisecond, func() { w.rejoin(rank, rounds) })
	}
}

// begin starts the process of a worker that has come back with a sponsor's state.
func (w *world) begin(old, sponsor *mortal, from, rounds int, s *state.Snapshot) {
	if w.workers[old.rank] != old || sponsor.dead || sponsor.member.Gone(old.rank) {
		return
	}
	alg := &witness{
		DPSGD: &algos.DPSGD{X: make([]float32, worldDim), Alpha: func(int) float32 { return 0 }, Codec: algos.Full{}},
		mixed: old.alg.mixed, at: old.alg.at,
	}
	row := topology.Row{In: []topology.Edge{{Peer: sponsor.rank, Weight: sponsor.member.Weight()}}, Out: []topology.Rank{sponsor.rank}}
	machine, err := gossip.Resume(old.rank, row, alg, rounds, 1, nil, s)
	if err != nil {
		w.t.Fatal(err)
	}
	m := &mortal{
		Worker: machine, rank: old.rank, row: row, alg: alg, guest: true, life: old.life,
		member: gossip.NewGuest(old.rank, sponsor.rank, w.graph.Closing(old.rank), from),
		called: make(map[topology.Rank]bool), last: make(map[topology.Rank]time.Duration), cuts: make(map[topology.Rank]int),
	}
	w.workers[old.rank] = m
	for c := range w.initial { // its model is another one
		w.initial[c] += float64(alg.X[c]) - float64(old.alg.X[c])
	}
	w.dial(m, sponsor)
	w.tick(m)
}
