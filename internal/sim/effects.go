package sim

import (
	"slices"
	"time"

	"gossiptrainer/internal/fault"
	"gossiptrainer/topology"
)

// An Effect is the outcome of one fault.
type Effect struct {
	fault.Fault
	At        time.Duration // when it began
	Over      time.Duration // when the peer was started again, or the fault ended
	Noticed   time.Duration // from At until a worker that is not struck lost a link because of it; −1: none did
	Recovered time.Duration // from Over until all workers have finished another round; −1: not seen
	Again     int           // rounds that a killed peer computed a second time
}

// strikes reports whether a fault stops a worker itself. Such a worker does not notice the fault as others do.
func (e *Effect) strikes(rank topology.Rank) bool {
	return (e.Kind == fault.Kill || e.Kind == fault.Hang) && e.Peers[0] == rank
}

// touches reports whether a link can be lost by a fault.
func (e *Effect) touches(i, j topology.Rank) bool {
	if e.Kind == fault.Kill || e.Kind == fault.Hang {
		return e.Peers[0] == i || e.Peers[0] == j
	}
	return e.Parts(i, j)
}

// effects are the outcomes of the faults so far.
type effects struct {
	all  []Effect
	at   map[int]int // index in all, by the number of the fault
	open []open
}

// An open effect belongs to a past fault from which the workers have not recovered yet.
type open struct {
	effect int
	round  int // rounds that every worker has to finish
}

// began notes that a fault begins.
func (e *effects) began(c fault.Change, now time.Duration) {
	e.at[c.Number] = len(e.all)
	e.all = append(e.all, Effect{Fault: c.Fault, At: now, Over: -1, Noticed: -1, Recovered: -1})
}

// ended notes that a fault is over. The workers have recovered when each has finished that many rounds.
func (e *effects) ended(number, rounds int, now time.Duration) {
	i := e.at[number]
	e.all[i].Over = now
	e.open = append(e.open, open{i, rounds})
}

// noticed notes that a worker has lost its link to another one, through which it learns of a fault.
func (e *effects) noticed(rank, other topology.Rank, now time.Duration) {
	for i := range e.all {
		if f := &e.all[i]; f.Noticed < 0 && f.Over < 0 && f.touches(rank, other) && !f.strikes(rank) {
			f.Noticed = now - f.At
		}
	}
}

// restarted notes that a killed peer has a process again, which computes some rounds again.
func (e *effects) restarted(rank topology.Rank, again, rounds int, now time.Duration) {
	for number, i := range e.at {
		if f := &e.all[i]; f.Kind == fault.Kill && f.Over < 0 && f.Peers[0] == rank {
			e.ended(number, rounds, now)
			f.Again = max(0, again)
		}
	}
}

// recovered closes the effects from which the workers have recovered: each has finished at least that many rounds, of a
// run of last rounds.
func (e *effects) recovered(least, last int, now time.Duration) {
	e.open = slices.DeleteFunc(e.open, func(o open) bool {
		f := &e.all[o.effect]
		if least < min(o.round, last) {
			return false
		}
		f.Recovered = now - f.Over
		return true
	})
}
