package node

import (
	"time"

	"gossiptrainer/internal/record"
)

// The driver writes the records of its rounds and never reads them back.

// finish records the end of the rounds before round k.
func (d *driver) finish(k int) {
	d.round, d.took = k, time.Since(d.began)
	d.vitals.finish(k, d.loss, d.spent, d.repairs())
	if d.state != record.Training {
		d.status(record.Training, "", nil)
	}
	if d.recorded() {
		d.observe(record.Event{Step: d.step()})
	}
	d.spent = spent{}
}

// step returns the record of the round that has just been finished.
func (d *driver) step() *record.Step {
	sent, received := d.meter.Bytes()
	s := d.w.Step(record.Step{
		Round: d.round, Time: d.took, Loss: float64(d.loss), Sent: sent, Received: received, Messages: d.meter.Messages(),
		Compute: d.spent.compute, Wait: d.spent.wait, Codec: d.spent.codec,
	})
	return &s
}

func (d *driver) status(state record.State, detail string, missing []int) {
	d.state = state
	d.observe(record.Event{Status: &record.Status{Rank: int(d.w.Rank), State: state, Detail: detail, Missing: missing}})
}
