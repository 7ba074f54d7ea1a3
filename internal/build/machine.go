package build

import (
	"fmt"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
)

// machine builds the machine of the worker, which starts at x, or from the saved state s.
func (b *builder) machine(x []float32, s *state.Snapshot) (gossip.Machine, error) {
	if b.method.Asynchronous() {
		return b.pairMachine(x, s)
	}
	algorithm, err := b.algorithm(x)
	if err != nil {
		return nil, err
	}
	rounds, every := int(b.cfg.Train.Rounds), b.cfg.Algorithm.LocalSteps
	if s != nil {
		schedule := gossip.Schedule{Rounds: rounds, Every: every, Agreed: b.agreed}
		return gossip.Resume(b.rank, b.rows, algorithm, schedule, s)
	}
	return gossip.NewScheduled(b.rank, b.rows, algorithm, gossip.Schedule{
		Rounds: rounds, Every: every, Agreed: b.agreed, Late: b.late,
		Heir: b.run.Program() != nil && b.run.Program().Heir,
	})
}

// pairMachine is machine for workers that meet in pairs.
func (b *builder) pairMachine(x []float32, s *state.Snapshot) (gossip.Machine, error) {
	p, err := b.parts(x)
	if err != nil {
		return nil, err
	}
	plan := gossip.PairPlan{Workers: b.run.N(), Rounds: int(b.cfg.Train.Rounds), Seed: b.cfg.Seed}
	if s != nil {
		return gossip.ResumePair(b.rank, b.rows.At(0), b.method.Pair(p), plan, s)
	}
	return gossip.NewPair(b.rank, b.rows.At(0), b.method.Pair(p), plan)
}

// algorithm builds the update rule of a worker that shares its rounds with the others. For a gossip.Carrier the
// protocol handles the messages and repairs of Moniqua.
func (b *builder) algorithm(x []float32) (gossip.Algorithm, error) {
	p, err := b.parts(x)
	if err != nil {
		return nil, err
	}
	algorithm, err := b.method.Build(p)
	if err != nil {
		return nil, err
	}
	if _, ok := algorithm.(gossip.Carrier); b.run.Modulo() != nil && !ok {
		return nil, fmt.Errorf("internal error: build: %s takes the codec moniqua and is no gossip.Carrier", b.method)
	}
	if _, ok := algorithm.(gossip.Local); b.cfg.Algorithm.LocalSteps > 1 && !ok {
		return nil, fmt.Errorf("internal error: build: %s takes local steps and is not gossip.Local", b.method)
	}
	return algorithm, nil
}
