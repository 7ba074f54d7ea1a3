package build

import (
	"gossiptrainer/gossip"
	"gossiptrainer/internal/bits"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/modulo"
	"gossiptrainer/internal/registry"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// A builder makes one worker of a run.
type builder struct {
	run    *experiment.Run
	method *registry.Algorithm
	rank   topology.Rank
	rows   topology.Sequence // neighbours that the worker hears and tells

	agreed  *gossip.Agreement // its part in the choice of bits; nil: bits do not change
	chapter *modulo.Chapter   // of a run whose members come and go; nil: they stay
	audit   *moniqua.Audit    // of workers in one process; nil: messages are not compared
	late    bool              // its first message may wait until it is asked for
	x       []float32         // memory of its model; nil: its own
}

func newBuilder(r *experiment.Run, rank topology.Rank, rows topology.Sequence) *builder {
	return &builder{run: r, method: r.Method(), rank: rank, rows: rows}
}

// agree makes the worker's part in the choice of bits, where a controller makes it. A worker has its place among those
// of the run or of a view.
func (b *builder) agree(place topology.Rank) (err error) {
	a := b.run.Config().Algorithm
	if !bits.Controlled(a.Controller) {
		return nil
	}
	plan := gossip.AgreementPlan{Diameter: b.run.Graph().Reach(), Every: a.LocalSteps}
	if in := b.chapter; in != nil {
		plan.First, plan.Agreed = in.First(), in.Bits
		if in.View > 0 {
			plan.Start = in.Log.Begin(in.View).Bits
		}
	}
	b.agreed, err = bits.Agree(a.Controller, b.run.Config().Seed, place, plan)
	return err
}

// lasting returns the builder of a worker that stays.
func lasting(r *experiment.Run, rank topology.Rank, audit *moniqua.Audit) (*builder, error) {
	b := newBuilder(r, rank, r.Rows()[rank])
	b.audit = audit
	return b, b.agree(rank)
}

// chosen returns the bits by round, nil where only sizes matter.
func (b *builder) chosen() func(k int) int {
	if b.agreed == nil {
		return nil
	}
	return b.agreed.Bits
}

// bits returns the bits of the worker by round, and their mean so far.
func (b *builder) bits() (at func(k int) int, mean func() float64) {
	if b.agreed != nil {
		return b.agreed.Bits, b.agreed.Mean
	}
	fixed := b.run.Bits()
	return func(int) int { return fixed }, func() float64 { return float64(fixed) }
}

// place describes the worker for its codecs.
func (b *builder) place() modulo.Place {
	return modulo.Place{Rank: b.rank, Rows: b.rows, Bits: b.chosen(), Audit: b.audit, In: b.chapter}
}
