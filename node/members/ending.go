package members

import (
	"maps"
	"math"
	"slices"
	"time"

	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/participant"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/work"
)

// Members that have done all rounds tell each other the digests of their models, and what they know of others. So all
// print the same digest of the run, and none goes before the others know it.

// An ending is what a member knows of the end of the run.
type ending struct {
	finals map[id]final  // the last word of each
	heard  map[id][]id   // whose results a member knows
	models map[id]Sum    // of all members at the end, once they are known
	rounds map[id]int    // that each has done
	scores map[id]Score  // of these models
	test   tested        // the newest
	begun  Sum           // the model whose test was begun last
	log    *views.Log    // as it was then: the views of those that stay a little longer do not count
	since  time.Duration // when they were
	leaves bool          // the member wants to leave
	asked  time.Duration // since when
	alone  bool          // it has left, as the last one
}

// A tested model has its score.
type tested struct {
	model Sum
	score Score
}

// test begins the test of a model at the end, once. It reports whether the score is known.
func (s *Seat) test(model Sum) bool {
	if s.o.Test == nil {
		s.end.test = tested{model, Score{math.NaN(), math.NaN()}}
	}
	if s.end.test.model != model && s.end.begun != model {
		s.end.begun = model
		go func() {
			select {
			case s.tests <- tested{model, s.o.Test(s.ID())}:
			case <-s.office.over:
			}
		}()
	}
	return s.end.test.model == model
}

// hear takes the results that another member knows.
func (e *ending) hear(from id, all []final) {
	if e.heard == nil {
		e.heard = map[id][]id{}
	}
	e.heard[from] = nil
	for _, f := range all {
		e.heard[from] = append(e.heard[from], f.id)
		old, known := e.finals[f.id]
		if f.id == from || !known || f.views > old.views || f.views == old.views && old.open {
			e.finals[f.id] = f
		}
	}
}

// lingering is how long a member stays at most, once it knows all results, for members that do not.
const lingering = 10 * time.Second

// needed returns the members whose results make the digest of the run.
func (s *Seat) needed(log *views.Log) []id {
	p := s.o.Member.Plan
	return log.At(log.Force(views.Rounds(log, p.Rounds, p.Every) / p.Every)).IDs()
}

// over reports whether the member has nothing left to do.
func (s *Seat) over() bool {
	log, standing := s.m.Council().Log(), s.m.Standing()
	switch {
	case standing == member.Left || standing == member.Excluded:
		return true
	case log == nil:
		return s.forgotten()
	case s.end.leaves && (s.solitary(log) && !keeps(s) || s.deserted()):
		s.end.alone = true
		return true
	case standing == member.Joining:
		return s.missed(log)
	case standing != member.Finished:
		delete(s.end.finals, s.ID()) // a newcomer that it has met may have steps left
		return false
	}
	if s.collect(log); s.end.models == nil {
		return false
	}
	if s.now()-s.end.since > lingering {
		return true
	}
	for _, m := range log.Watched(s.m.Council().Done) { // a leaver that does not know it yet, or needs something
		if _, there := s.end.models[m]; !there {
			return false
		}
	}
	for m := range s.end.models {
		if m != s.ID() && len(s.end.heard[m]) < len(s.end.models) { // it does not know all
			return false
		}
	}
	return true
}

// solitary reports whether no other member could go on without this one.
func (s *Seat) solitary(log *views.Log) bool {
	return len(log.Last().Members) == 1 && len(log.Watched(s.m.Council().Done)) == 1
}

// deserted reports whether a member that wants to leave has heard no majority, or none with a state, for the grace.
// None can agree on its leave then: it goes with its model, and a death is what the others see.
func (s *Seat) deserted() bool {
	undecided := s.m.Council().Waits() || council.Bereft(s.m.Council())
	return undecided && len(s.silent()) > 0 && s.now()-s.end.asked > s.o.Member.Council.Grace
}

// forgotten reports whether a newcomer without a log has heard no member for the grace. The run may have ended between
// the admission and the log.
func (s *Seat) forgotten() bool {
	last := time.Duration(0)
	for _, at := range s.heard {
		last = max(last, at)
	}
	return s.now()-last > s.o.Member.Council.Grace
}

// missed reports whether the run has ended without a newcomer.
func (s *Seat) missed(log *views.Log) bool {
	for _, m := range s.needed(log) {
		if _, known := s.end.finals[m]; !known {
			return false
		}
	}
	_, member := log.Last().Rank(s.ID())
	return !member
}

// own enters what this member says at its end. A view that begins there makes another machine.
func (s *Seat) own(log *views.Log) {
	f, known := s.end.finals[s.ID()]
	if !known || f.views != log.Len() {
		f.digest = record.Digest(s.m.Params())
	}
	known = s.test(f.digest)
	f.id, f.rounds, f.views, f.open = s.ID(), s.m.Done(), log.Len(), !known || s.m.Council().Open() != nil
	f.score = s.end.test.score
	s.end.finals[s.ID()] = f
}

// collect notes the results once all members have told them, and know the same views.
func (s *Seat) collect(log *views.Log) {
	if s.end.models != nil {
		return
	}
	s.own(log)
	all, rounds, scores := map[id]Sum{}, map[id]int{}, map[id]Score{}
	for _, m := range s.needed(log) {
		f, known := s.end.finals[m]
		if !known || f.open || f.views != log.Len() {
			return
		}
		all[m], rounds[m], scores[m] = f.digest, f.rounds, f.score
	}
	s.end.models, s.end.rounds, s.end.scores = all, rounds, scores
	s.end.log, s.end.since = log.Clone(), s.now()
	s.tell()
}

// tell tells the others the results that are known here, at the end of this member.
func (s *Seat) tell() {
	log := s.m.Council().Log()
	if log == nil || s.m.Standing() != member.Finished {
		return
	}
	if s.end.models == nil {
		s.own(log)
	}
	var all []final
	for _, m := range slices.Sorted(maps.Keys(s.end.finals)) {
		all = append(all, s.end.finals[m])
	}
	to := s.needed(log)
	for _, m := range council.Waiting(s.m.Council()) { // they learn that they come too late
		to = append(to, m.ID)
	}
	for _, m := range to {
		if m != s.ID() {
			s.office.send(m, letter{finals: all})
		}
	}
}

// A Keeping says when a member keeps its state, from which it can go on after all members were switched off. It also
// keeps the state when it leaves, and when the run was stopped.
type Keeping struct {
	work.Interval
	Take func(member.Kept)
}

// A keeper keeps states.
type keeper struct {
	Keeping
	wants bool // a state is due
	round int  // of the last state
	when  time.Duration
	told  bool // the members have heard that this one leaves
}

// keep keeps the state of the member between two rounds, if one is due. It reports whether the member went on.
func keep(s *Seat) bool {
	m, k := participant.Sharing(s.m), &s.kept
	if m == nil || k.Take == nil {
		return false
	}
	done := s.m.Done()
	switch standing := s.m.Standing(); {
	case standing == member.Finished:
		_, stopped := views.End(s.m.Council().Log())
		k.wants = stopped && done > k.round
	case standing != member.Working:
		k.wants = false
	default:
		k.wants = k.wants || done > k.round && k.Due(done, k.round, s.now()-k.when)
	}
	if !k.wants {
		return false
	}
	state, ok := member.Keep(m)
	if ok {
		k.wants, k.round, k.when = false, done, s.now()
		k.Take(state)
	}
	return ok
}

// beginLeave begins to leave. The state of the member is kept before, as a crew that is switched off goes on from it.
func beginLeave(s *Seat) {
	s.end.leaves, s.end.asked = true, s.now()
	s.kept.wants = s.kept.Take != nil && s.m.Done() > s.kept.round && participant.Sharing(s.m) != nil
	sayLeave(s)
}

// keeps reports whether a member that leaves may still keep its state.
func keeps(s *Seat) bool { return s.kept.wants && s.now()-s.end.asked < s.o.Member.Council.Grace }

// sayLeave tells the members that this one leaves, once its state is kept. It does not wait long.
func sayLeave(s *Seat) {
	if !s.end.leaves || s.kept.told || s.kept.wants && s.now()-s.end.asked < s.o.Member.Council.Patience {
		return
	}
	s.kept.told = true
	s.m.Leave()
}
