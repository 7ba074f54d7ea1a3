package experiment

import (
	"strconv"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// machine builds the machine of a worker that starts at x.
func (r *Run) machine(rank topology.Rank, x []float32) (gossip.Machine, error) {
	if r.method.machine != nil {
		return r.method.machine(r, rank, x)
	}
	algorithm, err := r.method.build(r, rank, x)
	if err != nil {
		return nil, err
	}
	return gossip.NewAgreed(rank, r.rows[rank], algorithm, r.cfg.Train.Rounds, r.cfg.Algorithm.LocalSteps, r.agreed)
}

// buildADPSGD builds the machine of AD-PSGD. Slack γ makes the half of the way
// that an exchange goes γ/2: that is what γW + (1−γ)I does to its matrix.
func buildADPSGD(r *Run, rank topology.Rank, x []float32) (gossip.Machine, error) {
	codecs := make(map[topology.Rank]algos.Codec)
	for _, peer := range r.rows[rank].Out {
		codec, err := r.linkCodec(rank, peer)
		if err != nil {
			return nil, err
		}
		codecs[peer] = codec
	}
	algorithm := &algos.ADPSGD{
		X: x, Alpha: r.schedule.StepSize, Weight: float32(r.cfg.Topology.Slack / 2),
		Codec: func(peer topology.Rank) algos.Codec { return codecs[peer] },
	}
	return gossip.NewPair(rank, r.rows[rank], algorithm, gossip.PairPlan{
		Workers: r.N(), Rounds: r.cfg.Train.Rounds, Seed: r.cfg.Seed,
	})
}

// linkCodec returns the codec of worker rank on its link to peer, whose noise
// both ends share.
func (r *Run) linkCodec(rank, peer topology.Rank) (algos.Codec, error) {
	if !r.quantized() {
		return algos.Full{}, nil
	}
	rounding, err := moniqua.ParseRounding(r.cfg.Algorithm.Rounding)
	if err != nil {
		return nil, err
	}
	return moniqua.New(r.levels(), rounding, r.theta, rng.Edge(r.cfg.Seed, int(rank), int(peer)), rank)
}

// pairPayload returns the bytes of a model and of the count of everybody's
// steps, which travels with it.
func pairPayload(r *Run) int { return modelPayload(r) + gossip.CensusBytes(r.N()) }

// Asynchronous reports whether the workers wait for nobody, so that some do more
// steps than others.
func (r *Run) Asynchronous() bool { return r.method.machine != nil }

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
