package pace

import "gossiptrainer/topology"

// A script may stop the run for all. Its worker then has finished, and so has each worker that hears of it, when its
// script gives the turn back. The run ends by the usual rule: after the largest number of steps of any worker.
//
// A call that waits then is cut off, as the script that stopped the run never comes to it. It does not count, so that
// all scripts agree about the numbers of their calls after the end. A call that some worker has passed is not cut off:
// all have come to it, for a script stops the run in its turn only.

// MaxStop bounds the text of a Stop, in bytes.
const MaxStop = 200

// beyond is the Cut of a worker that had left before the end: it is present in all calls.
const beyond = 1 << 40

// Stop notes that the script of this worker stops the run.
func (p *Pace) Stop(why string) { p.own().Stop, p.own().Finished = why, true }

// Stopped returns the worker with the lowest rank whose script has stopped the run, and why; "": none has.
func (p *Pace) Stopped() (by topology.Rank, why string) {
	for rank, s := range p.all {
		if s.Stop != "" {
			return topology.Rank(rank), s.Stop
		}
	}
	return 0, ""
}

func (p *Pace) stopped() bool {
	_, why := p.Stopped()
	return why != ""
}

// Cuts reports whether the end of a stopped run is to be noted by Cut. A call that another worker has passed is over
// first.
func (p *Pace) Cuts() bool {
	if s := p.own(); s.Cut > 0 || !s.Finished || !p.stopped() {
		return false
	}
	if !p.Waiting() {
		return true
	}
	_, here, _ := p.meeting(p.own().Calls)
	return !here
}

// Told notes that the script of this worker has been told the end of its rounds.
func (p *Pace) Told() { p.told = true }

// Cut notes that the script of this worker takes the end of a stopped run. It reports whether it cuts a
// call off in which the script waits. A call after the end stays.
func (p *Pace) Cut() bool {
	s := p.own()
	waits := p.Waiting()
	switch {
	case s.Cut > 0:
		return false
	case s.Left:
		s.Cut = beyond
	case waits && p.told:
		s.Cut = s.Calls
	case waits:
		s.Calls, s.Newest = s.Calls-1, s.Newest[:len(s.Newest)-1]
		s.Cut = s.Calls + 1
		return true
	default:
		s.Cut = s.Calls + 1
	}
	return false
}

// newer reports whether the calls of state b of a worker are newer than those of state a.
func newer(a, b State) bool {
	if (a.Cut > 0) != (b.Cut > 0) {
		return b.Cut > 0
	}
	return b.Calls > a.Calls || b.Calls == a.Calls && len(b.Newest) > len(a.Newest)
}

// part returns call c of a worker, if it has made it on the side of the end of a stopped run on which this worker is.
func (p *Pace) part(s State, c int) (Call, bool) {
	if p.apart(s, c) {
		return Call{}, false
	}
	return s.call(c)
}

// absent reports whether a worker makes no call c, and counts as present.
func (p *Pace) absent(s State, c int) bool { return s.Left && !p.apart(s, c) }

// apart reports whether call c is one before the end of a stopped run for one of this worker and another, and one after
// it for the other.
func (p *Pace) apart(s State, c int) bool {
	own := p.own().Cut
	return own > 0 && s.Cut == 0 && !s.Left && c >= own || own == 0 && s.Cut > 0 && c >= s.Cut
}
