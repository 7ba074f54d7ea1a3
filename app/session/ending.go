package session

import (
	"sync"
	"time"

	"gossiptrainer/internal/record"
	"gossiptrainer/internal/sim"
)

// An ending watches a run for a reason to end before its rounds are over.
type ending struct {
	Until
	goal    *record.Goal
	steps   *record.Merge // of real peers with a target, in the order of arrival
	clock   bool          // time is that of real peers
	trained time.Duration // in earlier parts of the run
	timer   *time.Timer   // of this part, nil before its first round

	over chan struct{} // closed when the run must end
	once sync.Once
	what string // reason
}

// end ends the run for a reason. The first reason counts.
func (e *ending) end(what string) {
	e.once.Do(func() {
		e.what = what
		close(e.over)
	})
}

// reason returns the reason for the end of the run.
func (e *ending) reason() string {
	select {
	case <-e.over:
		return e.what
	default:
		return ""
	}
}

// sim returns the ending for the simulator, whose steps come in the order of time.
func (e *ending) sim() sim.Ending {
	if e.Targets == (record.Targets{}) {
		return sim.Ending{Time: e.Time}
	}
	return sim.Ending{Time: e.Time, Until: e.reaches}
}

// simulated takes the virtual time that a finished run took.
func (e *ending) simulated(took time.Duration) {
	if e.Time > 0 && took >= e.Time {
		e.end(e.TimeUp())
	}
}

// reaches reports whether the target is reached with a step.
func (e *ending) reaches(step record.Step) bool {
	if !e.goal.Reached(step) {
		return false
	}
	e.end(e.Reached())
	return true
}

// recall takes an event of the record of a simulation that resumes.
func (e *ending) recall(event record.Event) {
	e.goal.Score(event)
	if event.Step != nil && e.Targets != (record.Targets{}) {
		e.reaches(*event.Step)
	}
}

// follow watches real peers that resume a run after some time of training, with its record.
func (e *ending) follow(peers int, events []record.Event, trained time.Duration) {
	e.clock, e.trained = true, trained
	if e.Targets == (record.Targets{}) {
		return
	}
	e.steps = record.NewMerge(peers)
	for _, event := range events {
		e.note(event)
	}
}

// see takes an event of the run. Time begins with the first round of a peer.
func (e *ending) see(event record.Event) {
	e.note(event)
	first := event.Status != nil && event.Status.State == record.Training
	if first && e.clock && e.Time > 0 && e.timer == nil {
		e.timer = time.AfterFunc(e.Time-e.trained, func() { e.end(e.TimeUp()) })
	}
}

// note takes an event of the record.
func (e *ending) note(event record.Event) {
	e.goal.Score(event)
	if e.steps == nil {
		return
	}
	for _, step := range e.steps.See(event) {
		e.reaches(step)
	}
}

// close stops the clock.
func (e *ending) close() {
	if e.timer != nil {
		e.timer.Stop()
	}
}
