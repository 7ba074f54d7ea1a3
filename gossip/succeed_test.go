package gossip_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// schedule returns the schedule of a setup.
func (s setup) schedule() gossip.Schedule {
	return gossip.Schedule{Rounds: s.rounds, Every: max(1, s.every)}
}

// heir returns the worker that gives its algorithm.
func (s setup) heir(i int, alg gossip.Algorithm) (*gossip.Worker, error) {
	schedule := s.schedule()
	schedule.Heir = true
	return gossip.NewScheduled(topology.Rank(i), s.rows[i], alg, schedule)
}

// succession returns the round from which the vector is another one.
func (s setup) succession() int {
	w, err := gossip.NewScheduled(0, s.rows[0], s.algorithms()[0], s.schedule())
	if err != nil {
		panic(err)
	}
	return w.Slots().Succession(s.learn)
}

// Workers learn of another vector in the same round. Whatever the order of messages, losses and repairs, they arrive
// where lock-step does, which makes new algorithms at the round of Succession.
func TestRunsGoOnWithAnotherVector(t *testing.T) {
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
				s := f.make(newGraph(2+choose(4), choose), 3+choose(4), 3+choose(4))
				s.grows, s.learn = 1+choose(5), choose(s.rounds)
				d := newNetwork(t, s)
				for range choose(60) {
					d.act(choose)
				}
				d.finish()
				d.check(lockstep(t, s))
			})
		})
	}
}

func TestSuccessionIsAfterAllThatANeighbourMaySend(t *testing.T) {
	full := func(x []float32) gossip.Algorithm { return &algos.DPSGD{X: x, Alpha: decreasing, Codec: algos.Full{}} }
	ring := func(x []float32) gossip.Algorithm { return &algos.AllReduce{X: x, Alpha: decreasing, Workers: 4} }
	row := topology.Cycle(4)[0]
	for _, test := range []struct {
		alg         func(x []float32) gossip.Algorithm
		every, k, n int
	}{
		{full, 1, 0, 2}, {full, 1, 7, 9}, {full, 3, 0, 6}, {full, 3, 2, 6}, {full, 3, 3, 9},
		{ring, 1, 5, 6}, // six messages a round: three of them ahead is the same round, or the next one
	} {
		w, err := gossip.NewScheduled(0, row, test.alg(make([]float32, 8)), gossip.Schedule{Rounds: 20, Every: test.every})
		if err != nil {
			t.Fatal(err)
		}
		if n := w.Slots().Succession(test.k); n != test.n {
			t.Errorf("round %d with exchanges every %d: round %d, want %d", test.k, test.every, n, test.n)
		}
	}
}

func TestSucceedRefusesWhatItCannotDo(t *testing.T) {
	next := func([]float32) (*gossip.Worker, error) { return nil, nil }
	of := func(codec algos.Codec) *gossip.Worker {
		return newWorker(t, pair, &algos.DPSGD{X: make([]float32, 8), Alpha: decreasing, Codec: codec}, 9)
	}
	for want, err := range map[string]error{
		"another vector from round 0 on: that has begun": gossip.Succeed(of(algos.Full{}), 0, next),
		"travel in 4 pieces: join with all that will":    gossip.Succeed(of(algos.Full{Piece: 2}), 3, next),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
