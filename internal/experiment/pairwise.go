package experiment

import (
	"strconv"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/state"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// machine builds the machine of a worker that starts at x, or where s was saved.
func (r *Run) machine(rank topology.Rank, x []float32, s *state.Snapshot) (gossip.Machine, error) {
	if r.Asynchronous() {
		return r.pairMachine(rank, x, s)
	}
	algorithm, err := r.build(rank, x)
	if err != nil {
		return nil, err
	}
	if s != nil {
		return gossip.Resume(rank, r.rows[rank], algorithm, r.cfg.Train.Rounds, r.cfg.Algorithm.LocalSteps, r.agreed, s)
	}
	return gossip.NewAgreed(rank, r.rows[rank], algorithm, r.cfg.Train.Rounds, r.cfg.Algorithm.LocalSteps, r.agreed)
}

// pairMachine is machine for workers that meet in pairs.
func (r *Run) pairMachine(rank topology.Rank, x []float32, s *state.Snapshot) (gossip.Machine, error) {
	p, err := r.parts(rank, x)
	if err != nil {
		return nil, err
	}
	plan := gossip.PairPlan{Workers: r.N(), Rounds: r.cfg.Train.Rounds, Seed: r.cfg.Seed}
	if s != nil {
		return gossip.ResumePair(rank, r.rows[rank], r.method.Pair(p), plan, s)
	}
	return gossip.NewPair(rank, r.rows[rank], r.method.Pair(p), plan)
}

// linkCodecs returns the codecs of a worker by neighbour. Both ends of a link
// share the noise of its grid.
func (r *Run) linkCodecs(rank topology.Rank) (map[topology.Rank]algos.Codec, error) {
	codecs := make(map[topology.Rank]algos.Codec)
	if !r.quantized() {
		for _, peer := range r.partners(rank) {
			codecs[peer] = algos.Full{}
		}
		return codecs, nil
	}
	control, err := r.pairControl()
	if err != nil {
		return nil, err
	}
	for _, peer := range r.partners(rank) {
		if codecs[peer], err = r.linkCodec(rank, peer, control); err != nil {
			return nil, err
		}
	}
	return codecs, nil
}

func (r *Run) linkCodec(rank, peer topology.Rank, control *moniqua.PairControl) (*moniqua.PairCodec, error) {
	a := r.cfg.Algorithm
	rounding, err := moniqua.ParseRounding(a.Rounding)
	if err != nil {
		return nil, err
	}
	return moniqua.NewPair(moniqua.Codec{
		Levels: r.levels(), Rounding: rounding, Seed: rng.Edge(r.cfg.Seed, int(rank), int(peer)), Rank: rank, Verify: a.Theta.Verify, Audit: r.audit,
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
	return r.linkCodec(0, 1, control)
}

// pairPayload returns the bytes of the largest message or repair, and of the
// count of everybody's steps, which travels with models.
func pairPayload(r *Run) int {
	if !r.quantized() {
		return modelPayload(r) + gossip.CensusBytes(r.N())
	}
	link, err := r.anyLink()
	if err != nil {
		panic("internal error: experiment: " + err.Error()) // assembleTheta has made one
	}
	return link.MaxPayload(r.dim) + gossip.CensusBytes(r.N())
}

// Asynchronous reports whether the workers wait for nobody, so that some do more
// steps than others.
func (r *Run) Asynchronous() bool { return r.method.Asynchronous() }

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
