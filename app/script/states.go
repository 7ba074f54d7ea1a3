package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"

	"gossiptrainer/gossip/pace"
	"gossiptrainer/topology"
)

// states is what a worker knows of the scripts of all workers, its own included.
type states struct {
	lock    sync.Mutex
	pace    *pace.Pace // nil before begin
	self    topology.Rank
	size    int           // workers
	most    int           // rounds
	changed chan struct{} // closed and replaced when the state of another worker is new
	shared  int           // steps that the others have been told of
	broken  error         // why the calls of the scripts do not fit
	likeness
}

// A notice is what a worker tells the others.
type notice struct {
	pace.State
	Sketches []sketch `json:"sketches,omitempty"`
}

// check returns an error if no worker of a run can give the notice.
func (n notice) check(size, rounds int) error {
	for _, s := range n.Sketches {
		if s.Round < 0 || s.Round > rounds || len(n.Sketches) > agreements {
			return errors.New("sketches of no round")
		}
	}
	return n.State.Check(size, rounds)
}

// A Place is where a worker begins.
type Place struct {
	Run         string
	Seed        uint64
	Rank, Size  int
	Rounds      int  // of the run; 0: the scripts decide
	Most        int  // rounds of any worker
	Free        bool // workers share no rounds
	Sheds       bool // the run goes on without a worker that is lost
	Round       int  // in which it begins
	Checkpoints bool
	Ended       []byte // of its State before a restart; nil: it takes steps
	// After is gossip.Slots.Succession; it is not called where workers share no rounds.
	After func(k int) int
}

// begin sets the place of the worker.
func (s *states) begin(p Place) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.self, s.size, s.most = topology.Rank(p.Rank), p.Size, p.Most
	s.pace = pace.New(s.self, p.Size)
	if p.Free {
		s.pace.Free()
	}
	s.changed = make(chan struct{})
}

// hear returns what to do with the state of another worker's script, nil if no script can be in it.
func (s *states) hear(from topology.Rank, text []byte) func() {
	var told notice
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	s.lock.Lock()
	size, most := s.size, s.most
	s.lock.Unlock()
	if d.Decode(&told) != nil || told.check(size, most) != nil {
		return nil
	}
	return func() {
		s.lock.Lock()
		defer s.lock.Unlock()
		if err := s.pace.Heard(from, told.State); err != nil && s.broken == nil {
			s.broken = err
		}
		s.compare(from, told.Sketches)
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// change changes what this worker knows. It tells no other worker.
func (s *states) change(f func(p *pace.Pace) error) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	return f(s.pace)
}

// text returns the notice of this worker, which the caller gives to the others.
func (s *states) text() ([]byte, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.shared = s.pace.Own().Reached
	return json.Marshal(notice{s.pace.Own(), s.likeness.own})
}

// unshared reports whether other workers need to hear of steps that this one has not told them.
func (s *states) unshared() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.pace.Watched() && s.pace.Own().Reached > s.shared
}

// A view is what a worker knows at the boundary of a round.
type view struct {
	pace.State                 // of its own script
	waiting    bool            // the script waits in a call
	verdict    pace.Verdict    // where the script takes no step
	call       int             // of the verdict Meet
	changed    <-chan struct{} // closed when this may have changed
	stopper    topology.Rank   // worker whose script has stopped the run
	stop       string          // why; "": none has
	cuts       bool            // the script is to take the end of a stopped run
}

func (s *states) view(k int) (v view, err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	v = view{State: s.pace.Own(), waiting: s.pace.Waiting(), changed: s.changed}
	v.stopper, v.stop = s.pace.Stopped()
	v.cuts = s.pace.Cuts()
	if v.waiting || v.Finished || v.Paused() {
		v.verdict, v.call = s.pace.Next(k)
	}
	return v, s.broken
}

// missing returns the workers that have not come to the call of this one's script. Without a call, it returns those
// that have not left.
func (s *states) missing() []topology.Rank {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.pace.Missing()
}

// parts returns the contributions of the workers to a call, by rank, and its kind.
func (s *states) parts(call int) (kind pace.Kind, parts map[topology.Rank]pace.Call) {
	s.lock.Lock()
	defer s.lock.Unlock()
	parts = s.pace.Calls(call)
	for _, p := range parts {
		kind = p.Kind
	}
	return kind, parts
}

// stepped notes a step of round k with its sketch, if the round has one. It returns the workers that make the same
// updates as this one, when they are to be told.
func (s *states) stepped(k int, made *sketch) (same []topology.Rank) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.pace.Step(k)
	if made == nil {
		return nil
	}
	s.likeness.add(*made)
	return s.report(s.self)
}
