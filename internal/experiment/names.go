package experiment

import (
	"fmt"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/train"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// methodOf returns the registry's row of the algorithm in a.
func methodOf(a configs.Algorithm) (registry.Algorithm, error) {
	if row, ok := registry.Find(a.Name, a.Reduce); ok {
		return row, nil
	}
	if names := registry.Names(nil); !slices.Contains(names, a.Name) {
		return registry.Algorithm{}, configs.Errorf("algorithm.name", "%q is not one of %v", a.Name, names)
	}
	return registry.Algorithm{}, configs.Errorf("algorithm.reduce", "%q is not one of %v", a.Reduce, registry.Forms())
}

const floatBytes = 4

// Parameters returns the number of model parameters that a message covers. A sparse message covers all of them,
// although it holds only some.
func (r *Run) Parameters() int {
	if r.method.Sends.Spans == nil {
		return r.dim
	}
	return r.method.Sends.Spans(r.dim, r.N())
}

// parts returns the components of the worker's update rule, with the model x.
func (b *builder) parts(x []float32) (registry.Parts, error) {
	p := registry.Parts{
		Rank: b.rank, Seat: int(b.rank), Server: topology.Rank(b.N()), Workers: b.N(), Rows: b.rows, X: x,
		Alpha: b.schedule.StepSize, Compressor: b.compressor, Settings: b.settings(),
	}
	p.Clip = b.clip()
	var err error
	if b.cfg.Algorithm.MeanGradients {
		if p.After, err = train.NewOptimizer(b.directions(), b.dim); err != nil {
			return p, err
		}
	}
	switch {
	case b.Asynchronous():
		var links map[topology.Rank]algos.Codec
		links, err = b.linkCodecs()
		p.Link = func(peer topology.Rank) algos.Codec { return links[peer] }
	case b.method.ByCodec():
		p.Codecs, err = b.codecs()
	}
	return p, err
}

// settings returns those of the algorithm, without clipping.
func (r *Run) settings() registry.Settings {
	a := r.cfg.Algorithm
	s := registry.Settings{
		Gamma: float32(a.Gamma), Eta: float32(a.Update.Eta), Momentum: float32(a.Update.Momentum), LocalSteps: a.LocalSteps,
		Slack: float64(r.cfg.Topology.Slack), Feedback: a.ErrorFeedback,
	}
	if a.Order == "atc" {
		s.Order = algos.ATC
	}
	return s
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
	if _, ok := algorithm.(gossip.Carrier); b.quantized() && !ok {
		return nil, fmt.Errorf("internal error: experiment: %s takes the codec moniqua and is no gossip.Carrier", b.method)
	}
	if _, ok := algorithm.(gossip.Local); b.cfg.Algorithm.LocalSteps > 1 && !ok {
		return nil, fmt.Errorf("internal error: experiment: %s takes local steps and is not gossip.Local", b.method)
	}
	return algorithm, nil
}

// Levels returns the N of the modulo codec where the run file fixes its grid. It returns 0 without the codec, and where
// N or θ change during the run, because such a run corrects values that are far too large.
func (r *Run) Levels() int {
	if !r.quantized() || r.controlled() || r.cfg.Algorithm.Theta.Rule == "adaptive" {
		return 0
	}
	return r.levels()
}

// codecs returns those of the worker, by lane.
func (b *builder) codecs() ([]algos.Codec, error) {
	all := make([]algos.Codec, len(b.method.Lanes()))
	for lane := range all {
		all[lane] = algos.Full{}
		if b.quantized() {
			codec, err := b.moniqua(lane)
			if err != nil {
				return nil, err
			}
			all[lane] = codec
		}
	}
	return all, nil
}

// laneStream separates the noise of a lane from that of the others: lane h ≥ 1 uses the stream laneStream − h in place
// of the seed.
const laneStream = 1<<31 - 16

// laneSeed returns the seed of all draws of a lane.
func (r *Run) laneSeed(lane int) uint64 {
	if lane == 0 {
		return r.cfg.Seed
	}
	return rng.Stream(r.cfg.Seed, laneStream-lane)
}

// payload returns the bytes of the largest message.
func (r *Run) payload() int {
	switch {
	case r.Asynchronous():
		return pairPayload(r)
	case r.method.Compresses():
		return r.anyCompressor().Len(r.dim)
	case r.quantized():
		return verifiedPayload(r)
	}
	return floatBytes * r.Parameters()
}

// frame returns the bytes of the largest payload of a frame of a worker with machine m: of a piece, if its messages
// have several.
func (b *builder) frame(m gossip.Machine) int {
	w, ok := m.(*gossip.Worker)
	if !ok || w.Slots().Parts() == 1 {
		return b.payload()
	}
	return w.Codec(0).(interface{ MaxPiece(d int) int }).MaxPiece(b.dim)
}

// modelPayload returns the bytes of a model, without repairs and hashes.
func modelPayload(r *Run) int {
	if !r.quantized() {
		return floatBytes * r.dim
	}
	packing, err := quant.NewPacking(r.levels())
	if err != nil {
		panic("internal error: experiment: " + err.Error()) // the rule for theta has checked the levels
	}
	return packing.Len(r.dim-r.exact) + floatBytes*r.exact
}

// verifiedPayload is modelPayload for codecs that verify: they may have to send repairs, or start in full precision.
func verifiedPayload(r *Run) int {
	codec, err := r.typical().moniqua(0)
	if err != nil {
		panic("internal error: experiment: " + err.Error()) // the rule for theta has checked it
	}
	return codec.MaxPayload(r.dim)
}
