package experiment

import (
	"strconv"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// machine builds the machine of the worker, which starts at x, or from the saved state s.
func (b *builder) machine(x []float32, s *state.Snapshot) (gossip.Machine, error) {
	if b.Asynchronous() {
		return b.pairMachine(x, s)
	}
	algorithm, err := b.algorithm(x)
	if err != nil {
		return nil, err
	}
	rounds, every := int(b.cfg.Train.Rounds), b.cfg.Algorithm.LocalSteps
	if s != nil {
		schedule := gossip.Schedule{Rounds: rounds, Every: every, Agreed: b.choice.agreed}
		return gossip.Resume(b.rank, b.rows, algorithm, schedule, s)
	}
	return gossip.NewScheduled(b.rank, b.rows, algorithm, gossip.Schedule{
		Rounds: rounds, Every: every, Agreed: b.choice.agreed, Late: b.beside.late,
		Heir: b.program != nil && b.program.Heir,
	})
}

// pairMachine is machine for workers that meet in pairs.
func (b *builder) pairMachine(x []float32, s *state.Snapshot) (gossip.Machine, error) {
	p, err := b.parts(x)
	if err != nil {
		return nil, err
	}
	plan := gossip.PairPlan{Workers: b.N(), Rounds: int(b.cfg.Train.Rounds), Seed: b.cfg.Seed}
	if s != nil {
		return gossip.ResumePair(b.rank, b.rows.At(0), b.method.Pair(p), plan, s)
	}
	return gossip.NewPair(b.rank, b.rows.At(0), b.method.Pair(p), plan)
}

// linkCodecs returns the codecs of the worker by neighbour. Both ends of a link
// share the noise of its grid.
func (b *builder) linkCodecs() (map[topology.Rank]algos.Codec, error) {
	codecs := make(map[topology.Rank]algos.Codec)
	if !b.quantized() {
		for _, peer := range b.partners() {
			codecs[peer] = algos.Full{}
		}
		return codecs, nil
	}
	control, err := b.pairControl()
	if err != nil {
		return nil, err
	}
	for _, peer := range b.partners() {
		if codecs[peer], err = b.linkCodec(peer, control); err != nil {
			return nil, err
		}
	}
	return codecs, nil
}

func (b *builder) linkCodec(peer topology.Rank, control *moniqua.PairControl) (*moniqua.PairCodec, error) {
	return moniqua.NewPair(moniqua.Codec{
		Levels: b.levels(), Rounding: b.rounding(), Seed: rng.Edge(b.cfg.Seed, int(b.rank), int(peer)),
		Rank: b.rank, Verify: b.cfg.Algorithm.Theta.Verify, Audit: b.beside.audit, Exact: b.exact,
	}, peer, control)
}

// pairControl returns the source of the bound of a worker's exchanges.
func (r *Run) pairControl() (*moniqua.PairControl, error) {
	rule, ok := thetaControls[r.cfg.Algorithm.Theta.Rule]
	if !ok {
		return moniqua.NewPairFixed(r.cfg.Algorithm.Theta.Value)
	}
	plan, err := r.controlPlan()
	if err != nil {
		return nil, err
	}
	return moniqua.NewPairControl(rule.control, plan)
}

// anyLink returns the codec of a link that need not exist, because all links are alike.
func (r *Run) anyLink() (*moniqua.PairCodec, error) {
	control, err := r.pairControl()
	if err != nil {
		return nil, err
	}
	return r.typical().linkCodec(1, control)
}

// pairPayload returns the bytes of the largest message or repair, with the step counts of all workers, which travel
// with models.
func pairPayload(r *Run) int {
	if !r.quantized() {
		return modelPayload(r) + gossip.CensusBytes(r.N())
	}
	link, err := r.anyLink()
	if err != nil {
		panic("internal error: experiment: " + err.Error()) // chooseTheta has made one
	}
	return link.MaxPayload(r.dim) + gossip.CensusBytes(r.N())
}

// Timed reports whether the parameters depend on how long computation and messages take. Such a run has another digest
// on each machine.
func (r *Run) Timed() bool {
	return r.Asynchronous() || r.cfg.Algorithm.Controller.Name == "mqgrad"
}

// Slowdown returns the factor, 1 or more, by which a worker's gradients take longer. In an experiment it stands for a
// slow machine.
func (r *Run) Slowdown(rank topology.Rank) float64 {
	return max(1, r.cfg.Train.Slow[strconv.Itoa(int(rank))])
}
