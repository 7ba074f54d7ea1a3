package node

import (
	"time"

	"gossiptrainer/internal/record"
)

// What a driver tells of its rounds: it is written and never read back.

// finish records that the rounds before round k are over.
func (d *driver) finish(k int) {
	d.round, d.took = k, time.Since(d.began)
	d.vitals.finish(k, d.loss, d.spent, d.w.Machine)
	if d.mending != nil {
		d.mending.round(d.took)
	}
	if d.state != record.Training {
		d.status(record.Training, "", nil)
	}
	if d.recorded() {
		d.observe(record.Event{Step: d.step()})
	}
	d.spent = spent{}
}

// step is the record of the round that has just been finished.
func (d *driver) step() *record.Step {
	mixed := d.w.Machine.Mixed()
	s := &record.Step{
		Rank: int(d.w.Rank), Round: d.round, Time: d.took, Loss: float64(d.loss),
		Gap: float64(mixed.Gap), Moved: mixed.Moved,
		Compute: d.spent.compute, Wait: d.spent.wait, Codec: d.spent.codec,
	}
	if d.w.Theta != nil {
		s.Theta = d.w.Theta(d.round - 1)
	}
	if d.w.Bits != nil {
		s.Bits = d.w.Bits(d.round - 1)
	}
	s.Sent, s.Received = d.t.Bytes()
	s.Messages = d.t.Messages()
	s.Effective = s.Messages.Bits(d.w.Parameters)
	return s
}

func (d *driver) status(state record.State, detail string, missing []int) {
	d.state = state
	d.observe(record.Event{Status: &record.Status{Rank: int(d.w.Rank), State: state, Detail: detail, Missing: missing}})
}
