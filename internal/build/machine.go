package build

import (
	"fmt"

	"gossiptrainer/algos"
	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/train"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// machine builds the machine of the worker, which starts at x, or from the saved state s.
func (b *builder) machine(x []float32, s *state.Snapshot) (gossip.Machine, error) {
	cfg := b.run.Config()
	if b.method.Asynchronous() {
		return b.pairMachine(x, s)
	}
	algorithm, err := b.algorithm(x)
	if err != nil {
		return nil, err
	}
	rounds, every := int(cfg.Train.Rounds), cfg.Algorithm.LocalSteps
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
	cfg := b.run.Config()
	p, err := b.parts(x)
	if err != nil {
		return nil, err
	}
	plan := gossip.PairPlan{Workers: b.run.N(), Rounds: int(cfg.Train.Rounds), Seed: cfg.Seed}
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
	if _, ok := algorithm.(gossip.Local); b.run.Config().Algorithm.LocalSteps > 1 && !ok {
		return nil, fmt.Errorf("internal error: build: %s takes local steps and is not gossip.Local", b.method)
	}
	return algorithm, nil
}

// parts returns the components of the worker's update rule, with the model x.
func (b *builder) parts(x []float32) (registry.Parts, error) {
	cfg := b.run.Config()
	p := registry.Parts{
		Rank: b.rank, Seat: int(b.rank), Server: topology.Rank(b.run.N()), Workers: b.run.N(), Rows: b.rows, X: x,
		Alpha: b.run.Schedule().StepSize, Compressor: b.compressor, Settings: experiment.Settings(cfg),
	}
	p.Clip = clip(cfg.Algorithm.Clip)
	var err error
	if cfg.Algorithm.MeanGradients {
		if p.After, err = train.NewOptimizer(experiment.Directions(cfg.Train), b.run.Dim()); err != nil {
			return p, err
		}
	}
	switch {
	case b.method.Asynchronous():
		var links map[topology.Rank]algos.Codec
		links, err = b.linkCodecs()
		p.Link = func(peer topology.Rank) algos.Codec { return links[peer] }
	case b.method.ByCodec():
		p.Codecs, err = b.codecs()
	}
	return p, err
}

// compressor returns the C(·) with which some worker sends. The worker that is built decodes with it.
func (b *builder) compressor(sender topology.Rank) (quant.Compressor, error) {
	return b.run.Compressors().Make(sender, b.chosen())
}

// codecs returns those of the worker, by lane.
func (b *builder) codecs() ([]algos.Codec, error) {
	all := make([]algos.Codec, len(b.method.Lanes()))
	for lane := range all {
		all[lane] = algos.Full{}
		if b.run.Modulo() != nil {
			codec, err := b.run.Modulo().Codec(lane, b.place())
			if err != nil {
				return nil, err
			}
			all[lane] = codec
		}
	}
	return all, nil
}

// frame returns the bytes of the largest payload of a frame of a worker with machine m: of a piece, if its messages
// have several.
func (b *builder) frame(m gossip.Machine) int {
	w, ok := m.(*gossip.Worker)
	if !ok || w.Slots().Parts() == 1 {
		return experiment.Largest(b.run)
	}
	return w.Codec(0).(interface{ MaxPiece(d int) int }).MaxPiece(b.run.Dim())
}

// clip returns the settings with which a worker clips its mixing, nil if it does not clip.
func clip(clip configs.Clip) *algos.Clip {
	if !clip.On() {
		return nil
	}
	return &algos.Clip{Radius: clip.Radius, Liars: clip.Liars}
}

// linkCodecs returns the codecs of the worker by neighbour. Both ends of a link
// share the noise of its grid.
func (b *builder) linkCodecs() (map[topology.Rank]algos.Codec, error) {
	codecs := make(map[topology.Rank]algos.Codec)
	if b.run.Modulo() == nil {
		for _, peer := range b.partners() {
			codecs[peer] = algos.Full{}
		}
		return codecs, nil
	}
	control, err := b.run.Modulo().PairControl()
	if err != nil {
		return nil, err
	}
	for _, peer := range b.partners() {
		if codecs[peer], err = b.run.Modulo().Link(peer, control, b.place()); err != nil {
			return nil, err
		}
	}
	return codecs, nil
}

// partners returns the workers with which a worker of AD-PSGD may ever exchange.
func (b *builder) partners() []topology.Rank {
	if c := b.run.Closing(b.rank); c != nil {
		return c.Up
	}
	return b.rows.At(0).Out
}
