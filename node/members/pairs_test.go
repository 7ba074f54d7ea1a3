package members

import (
	"slices"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/pairs"
	"gossiptrainer/gossip/state"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// A pairMaker makes members that meet in pairs.
type pairMaker struct{ *maker }

type pairWorker struct {
	worker
	pair *gossip.PairWorker
}

func (w *pairWorker) Pair() *gossip.PairWorker { return w.pair }

func (m pairMaker) Enter(p pairs.Place) (pairs.Worker, error) {
	w := &pairWorker{worker: worker{m: m.maker}}
	w.place.ID, w.place.Rank = p.ID, p.Rank
	if p.Before != nil {
		w.pair = p.Before.Pair()
		return w, nil
	}
	x := make([]float32, m.dim)
	for i := range x {
		x[i] = float32(int(p.ID)+i) / 4
	}
	alg := &algos.ADPSGD{X: x, Alpha: func(int) float32 { return 0.125 }, Weight: 0.5,
		Codec: func(topology.Rank) algos.Codec { return algos.Full{} }}
	plan := gossip.PairPlan{Workers: len(p.Census.Empty), Rounds: m.job.rounds, Seed: 7, Serve: true}
	var err error
	w.pair, err = gossip.EnterPair(p.ID, alg, plan, p.Census, p.State)
	return w, err
}

func (w *pairWorker) Save(*state.Snapshot) {}

// paired waits until members are done, and checks that each knows the model that every other has at its end.
func paired(t *testing.T, all ...*machine) *views.Log {
	t.Helper()
	models, rounds := map[views.ID]Sum{}, map[views.ID]int{}
	for _, m := range all {
		<-m.done
		if m.err != nil {
			t.Fatal(m.err)
		}
		models[m.out.ID], rounds[m.out.ID] = record.Digest(m.seat.m.Params()), m.out.Rounds
	}
	for _, m := range all {
		if len(m.out.Models) != len(models) {
			t.Errorf("member %d knows the ends of %d members, want %d", m.out.ID, len(m.out.Models), len(models))
		}
		for id, sum := range m.out.Models {
			if models[id] != sum {
				t.Errorf("member %d has another digest of the model of %d than that member has", m.out.ID, id)
			}
			if m.out.Done[id] != rounds[id] {
				t.Errorf("member %d says that %d has taken %d steps, it has taken %d", m.out.ID, id, m.out.Done[id], rounds[id])
			}
		}
	}
	return all[0].out.Log
}

// Members that meet in pairs join, leave, are killed, and stop the run.
func TestPairsComeGoDieAndStop(t *testing.T) {
	t.Parallel()
	j := job{dim: 100, rounds: 100_000, kind: topology.Complete, pause: 5 * time.Millisecond, pairs: true}
	all, stays := played(t, j)
	hasPlayed(t, paired(t, stays...))
	for _, m := range stays {
		if v := m.seat.Vitals(); m.out.Rounds < 20 || v.Rounds != m.out.Rounds {
			t.Errorf("member %d has taken %d steps, and says %d", m.out.ID, m.out.Rounds, v.Rounds)
		}
	}
	if out := all[3].out; len(out.Models) > 0 || out.Rounds < 20 {
		t.Errorf("the leaver has taken %d steps and knows %d models", out.Rounds, len(out.Models))
	}
}

// The members take the steps of the plan together, and a newcomer does not add to them.
func TestPairsEndWithTheirSteps(t *testing.T) {
	t.Parallel()
	j := job{dim: 100, rounds: 500, kind: topology.Ring, pause: 5 * time.Millisecond, pairs: true}
	all := founded(t, j, 4)
	until(t, "training", func() bool { return all[1].maker.begun() > 5 })
	guest := newMachine(t, j, secret)
	joins(t, guest, all[2])
	all = append(all, guest)
	log := paired(t, all...)
	steps := 0
	for _, m := range all {
		steps += m.out.Rounds
	}
	if steps > 550*5 || steps < 450*4 || !slices.Equal(log.Last().IDs(), []views.ID{0, 1, 2, 3, 4}) {
		t.Errorf("%d steps, members %v", steps, log.Last().IDs())
	}
}
