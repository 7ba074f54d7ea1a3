package experiment

import (
	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/rng"
	"gossiptrainer/quant"
	"gossiptrainer/quant/controller"
	"gossiptrainer/topology"
)

// controllers maps values of algorithm.controller.name to constructors, which also return the first bits. The value fix
// has no controller.
var controllers = map[string]func(c configs.Controller, seed uint64) (choose gossip.Chooser, start int, err error){
	"oland-raj": func(c configs.Controller, _ uint64) (gossip.Chooser, int, error) {
		choose, err := controller.NewOlandRaj(c.MinBits, c.MaxBits)
		return choose, c.MaxBits, err
	},
	"mqgrad": func(c configs.Controller, seed uint64) (gossip.Chooser, int, error) {
		choose, err := controller.NewMQGrad(c.MinBits, c.MaxBits, seed)
		return choose, c.MinBits, err
	},
}

// controllerStream separates the controller's draws from the streams of the workers.
const controllerStream = 1<<31 - 3

// checkController makes sure that there are bits for the controller to choose.
func (r *Run) checkController() error {
	if !r.controlled() {
		return nil
	}
	a := r.cfg.Algorithm
	if _, err := r.agreement(0, nil); err != nil {
		return configs.Errorf("algorithm.controller.min_bits", "%v", err).With("algorithm.controller.max_bits")
	}
	switch {
	case r.quantized():
	case !r.hasBits():
		return configs.Errorf("algorithm.controller.name", "the compressor %s has no bits to choose: "+
			"must be fix, or the compressor one with bits, like minmax, got %s", a.Compressor.Name, a.Controller.Name).
			With("algorithm.compressor.name")
	default:
		if _, err := r.typical().compressor(0); err != nil {
			return configs.Errorf("algorithm.controller.min_bits", "%v", err).
				With("algorithm.controller.max_bits", "algorithm.compressor.name")
		}
	}
	return nil
}

// agreement returns the part of worker rank in the choice of bits. Worker 0 makes the choice.
func (r *Run) agreement(rank topology.Rank, in *chapter) (*gossip.Agreement, error) {
	c := r.cfg.Algorithm.Controller
	choose, start, err := controllers[c.Name](c, rng.Stream(r.cfg.Seed, controllerStream))
	if err != nil {
		return nil, err
	}
	plan := gossip.AgreementPlan{
		Diameter: r.graph.Reach(), Every: r.cfg.Algorithm.LocalSteps, Window: choose.Window(),
		Low: c.MinBits, High: c.MaxBits, Start: start,
	}
	if rank != 0 {
		choose = nil
	}
	if in != nil {
		plan.First, plan.Agreed = in.first(), in.bits
		if begin := in.log.Begin(in.view).Bits; begin > 0 && in.view > 0 {
			plan.Start = min(max(begin, c.MinBits), c.MaxBits)
		}
	}
	return gossip.NewAgreement(plan, choose)
}

// chosen returns the bits by round, nil where only sizes matter.
func (b *builder) chosen() func(k int) int {
	if b.choice.agreed == nil {
		return nil
	}
	return b.choice.agreed.Bits
}

// Bits returns the bits per parameter on the wire, the most where they change. It is 32 in full precision and for
// compressors without a fixed number.
func (r *Run) Bits() int {
	switch {
	case r.controlled():
		return r.cfg.Algorithm.Controller.MaxBits
	case r.quantized():
		return r.cfg.Algorithm.Bits
	case r.Compresses():
		return r.anyCompressor().Bits()
	}
	return fullBits
}

// bits returns the bits of the worker by round, and their mean so far.
func (b *builder) bits() (at func(k int) int, mean func() float64) {
	if b.choice.agreed != nil {
		return b.choice.agreed.Bits, b.choice.agreed.Mean
	}
	fixed := b.Bits()
	return func(int) int { return fixed }, func() float64 { return float64(fixed) }
}

// switched returns the compressor that takes the bits of every round from the controller. They are at most most.
func (b *builder) switched(most int, stream uint64) (quant.Compressor, error) {
	a := b.cfg.Algorithm
	return quant.NewSwitched(a.Controller.MinBits, most, b.chosen(), func(bits int) (quant.Compressor, error) {
		of := a.Compressor
		of.Bits = bits
		return newCompressor(of, b.compressed(), stream)
	})
}
