package session

import (
	"fmt"
	"math"
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
	untold  *untold       // of a run of scripts; nil: the run tells of its targets itself
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

// missing takes an event, and returns a warning about a target of which the scripts tell nothing, or "".
func (e *ending) missing(event record.Event) string {
	if e.untold == nil {
		return ""
	}
	return e.untold.see(event)
}

// unmet returns what to say at the end of a run: why no target has ended it, where its scripts have told nothing.
func (e *ending) unmet() []string {
	if e.untold == nil || e.reason() != "" {
		return nil
	}
	return e.untold.end()
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

// Rounds after which a run says that its scripts tell nothing of a target. Evaluations come more rarely than losses.
const (
	lossDue     = 20
	accuracyDue = 200
)

// An untold notes whether the scripts of a run tell what its targets need. A target that they tell nothing of never
// ends the run.
type untold struct {
	left    record.Targets // those of which nothing is on record
	pending record.Targets // those of left that the user has not been warned of
	round   int            // the newest
}

func newUntold(t record.Targets) *untold { return &untold{left: t, pending: t} }

// see takes an event. It returns a warning, once for each target, or "".
func (u *untold) see(e record.Event) (warning string) {
	switch {
	case e.Step != nil:
		if u.round = max(u.round, e.Step.Round); !math.IsNaN(e.Step.Loss) {
			u.left.Loss, u.pending.Loss = 0, 0
		}
	case e.Score != nil && !math.IsNaN(e.Score.Accuracy):
		u.left.Accuracy, u.pending.Accuracy = 0, 0
	}
	switch {
	case u.pending.Loss > 0 && u.round >= lossDue:
		u.pending.Loss = 0
		return u.ofLoss()
	case u.pending.Accuracy > 0 && u.round >= accuracyDue:
		u.pending.Accuracy = 0
		return u.ofAccuracy()
	}
	return ""
}

// end returns what to say of a run that no target has ended.
func (u *untold) end() (said []string) {
	if u.left.Loss > 0 {
		said = append(said, u.ofLoss())
	}
	if u.left.Accuracy > 0 {
		said = append(said, u.ofAccuracy())
	}
	return said
}

func (u *untold) ofLoss() string {
	return fmt.Sprintf("no loss is on record after %d rounds, so --until loss=%g cannot end the run: call peer.log(loss) "+
		"in the script after each step", u.round, u.left.Loss)
}

func (u *untold) ofAccuracy() string {
	return fmt.Sprintf("no accuracy is on record after %d rounds, so --until accuracy=%g cannot end the run: call "+
		"peer.evaluate(accuracy=...) in the script now and then", u.round, u.left.Accuracy)
}
