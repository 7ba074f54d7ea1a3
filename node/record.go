package node

import (
	"time"

	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// The driver writes the records of its rounds and never reads them back.

// finish records the end of the rounds before round k.
func (d *driver) finish(k int) {
	d.round, d.took = k, time.Since(d.began)
	d.vitals.finish(k, d.loss, d.spent, d.repairs())
	if d.state != record.Training {
		d.status(record.Training, "", nil)
	}
	d.account.Finish(record.Spent{Compute: d.spent.compute, Wait: d.spent.wait, Codec: d.spent.codec})
	if d.recorded() {
		step := d.step()
		d.observe(record.Event{Step: step})
		if d.account.Due(step, d.w.Rounds) {
			d.report(step)
		}
	}
	d.spent = spent{}
}

// report records the account of the worker with a step.
func (d *driver) report(step *record.Step) {
	for _, s := range d.meter.Status() {
		link := d.account.Link(topology.Rank(s.Neighbour))
		link.Sent, link.Received, link.Lost = s.Sent, s.Received, s.Lost
		if s.Path != nil && len(s.Path.Others) > 0 {
			link.Path = s.Path
		}
	}
	account := d.w.Report(d.account, step, &d.w.Surroundings)
	d.vitals.note(&account)
	d.observe(record.Event{Links: &account})
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
