package node

import (
	"time"

	"gossiptrainer/internal/record"
)

// What a driver tells of its rounds: it is written and never read back.

// finish records that the rounds before round k are over.
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

// step is the record of the round that has just been finished.
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
