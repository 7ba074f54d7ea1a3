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

// machine builds the machine of the worker, which starts at x, or where s was saved.
func (b *builder) machine(x []float32, s *state.Snapshot) (gossip.Machine, error) {
	if b.Asynchronous() {
		return b.pairMachine(x, s)
	}
	algorithm, err := b.algorithm(x)
	if err != nil {
		return nil, err
	}
	rounds, every := b.cfg.Train.Rounds, b.cfg.Algorithm.LocalSteps
	if s != nil {
		return gossip.Resume(b.rank, b.row, algorithm, gossip.Schedule{Rounds: rounds, Every: every, Agreed: b.agreed}, s)
	}
	return gossip.NewScheduled(b.rank, b.row, algorithm, gossip.Schedule{Rounds: rounds, Every: every, Agreed: b.agreed})
}

// pairMachine is machine for workers that meet in pairs.
func (b *builder) pairMachine(x []float32, s *state.Snapshot) (gossip.Machine, error) {
	p, err := b.parts(x)
	if err != nil {
		return nil, err
	}
	plan := gossip.PairPlan{Workers: b.N(), Rounds: b.cfg.Train.Rounds, Seed: b.cfg.Seed}
	if s != nil {
		return gossip.ResumePair(b.rank, b.row, b.method.Pair(p), plan, s)
	}
	return gossip.NewPair(b.rank, b.row, b.method.Pair(p), plan)
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
	a := b.cfg.Algorithm
	rounding, err := moniqua.ParseRounding(a.Rounding)
	if err != nil {
		return nil, err
	}
	return moniqua.NewPair(moniqua.Codec{
		Levels: b.levels(), Rounding: rounding, Seed: rng.Edge(b.cfg.Seed, int(b.rank), int(peer)),
		Rank: b.rank, Verify: a.Theta.Verify, Audit: b.audit,
	}, peer, control)
}

// pairControl returns where the bound of a worker's exchanges comes from.
func (r *Run) pairControl() (*moniqua.PairControl, error) {
	rule, ok := thetaControls[r.cfg.Algorithm.Theta.Rule]
	if !ok {
		return moniqua.NewPairFixed(r.cfg.Algorithm.Theta.Value)
	}
	rounding, err := moniqua.ParseRounding(r.cfg.Algorithm.Rounding)
	if err != nil {
		return nil, err
	}
	plan, err := r.controlPlan(rounding)
	if err != nil {
		return nil, err
	}
	return moniqua.NewPairControl(rule.control, plan)
}

// anyLink returns the codec of a link that need not exist: all links are alike.
func (r *Run) anyLink() (*moniqua.PairCodec, error) {
	control, err := r.pairControl()
	if err != nil {
		return nil, err
	}
	return r.typical().linkCodec(1, control)
}

// pairPayload returns the bytes of the largest message or repair, and of the
// count of everybody's steps, which travels with models.
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

// Timed reports whether the parameters depend on how long everything takes, so
// that a run has a digest of its own wherever it runs.
func (r *Run) Timed() bool {
	return r.Asynchronous() || r.cfg.Algorithm.Controller.Name == "mqgrad"
}

// Slowdown returns by which factor the gradients of a worker take longer than
// they must, 1 or more. In an experiment it stands for a slow machine.
func (r *Run) Slowdown(rank topology.Rank) float64 {
	return max(1, r.cfg.Train.Slow[strconv.Itoa(int(rank))])
}
