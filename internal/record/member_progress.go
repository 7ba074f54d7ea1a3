package record

import (
	"slices"
	"time"
)

// memberProgress returns the moments of a run whose members come and go. The clock of a newcomer on a network begins as
// it joins. So events count in the order of the record, and the time of a newcomer goes on from the latest one before.
func memberProgress(events []Event) (moments []Moment) {
	var latest time.Duration
	var members []int
	p, view, later := Pace{}, -1, map[int]time.Duration{} // the times at which members joined
	for _, e := range events {
		switch {
		case e.Status != nil && e.Status.View != nil && e.Status.View.View > view:
			view, members = e.Status.View.View, e.Status.View.Members
			p.Enter(members)
		case e.Step != nil && slices.Contains(members, e.Step.Rank):
			step := *e.Step
			if _, known := later[step.Rank]; !known {
				later[step.Rank] = 0
				if view > 0 {
					later[step.Rank] = max(0, latest-step.Time)
				}
			}
			step.Time += later[step.Rank]
			latest = max(latest, step.Time)
			if m, complete := p.See(Event{Step: &step}); complete {
				moments = append(moments, m)
			}
		}
	}
	return moments
}
