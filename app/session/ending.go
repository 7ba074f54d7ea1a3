package session

import (
	"sync"
	"time"

	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/sim"
)

// An ending watches a run for a reason to end before its rounds are over.
type ending struct {
	Until
	goal    goal
	steps   *record.Merge // of real peers with a target, in the order of arrival
	clock   bool          // time is that of real peers
	trained time.Duration // in earlier parts of the run
	timer   *time.Timer   // of this part, nil before its first round

	over chan struct{} // closed when the run must end
	once sync.Once
	what string // reason
}

// A goal watches the events of a run for its targets. It reports the event with which the last one is reached.
type goal interface{ See(record.Event) bool }

// goalOf returns what watches a run for targets. A process on a LAN sees the losses of its own member alone.
func goalOf(run *experiment.Run, mode string, t record.Targets) goal {
	switch cfg := run.Config(); {
	case !cfg.Views():
		return record.NewGoal(t, run.N())
	case mode == "run":
		return record.NewLoneGoal(t, cfg.Algorithm.LocalSteps)
	case run.Method().Asynchronous():
		return record.NewFreeGoal(t)
	default:
		return record.NewMemberGoal(t, cfg.Algorithm.LocalSteps)
	}
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

// sim returns the ending for the simulator, which asks after each step that the ending has seen.
func (e *ending) sim() sim.Ending {
	if e.Targets == (record.Targets{}) {
		return sim.Ending{Time: e.Time}
	}
	return sim.Ending{Time: e.Time, Until: func(record.Step) bool { return e.reason() != "" }}
}

// simulated takes the virtual time that a finished run took.
func (e *ending) simulated(took time.Duration) {
	if e.Time > 0 && took >= e.Time {
		e.end(e.TimeUp())
	}
}

// follow watches real peers that resume a run after some time of training. Those that stay have one clock.
func (e *ending) follow(peers int, trained time.Duration) {
	e.clock, e.trained = true, trained
	if _, stay := e.goal.(*record.Goal); stay && e.Targets != (record.Targets{}) {
		e.steps = record.NewMerge(peers)
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

// note takes an event of the record. A simulation has them in the order of time.
func (e *ending) note(event record.Event) {
	events := []record.Event{event}
	if e.steps != nil && event.Score == nil {
		events = e.steps.See(event)
	}
	for _, next := range events {
		if e.goal.See(next) {
			e.end(e.Reached())
		}
	}
}

// close stops the clock.
func (e *ending) close() {
	if e.timer != nil {
		e.timer.Stop()
	}
}
