package script

import (
	"testing"

	"gossiptrainer/gossip/pace"
)

// A worker that changes what it knows without telling still owes the others its steps.
func TestStepsThatAreNotToldStayUnshared(t *testing.T) {
	var s states
	s.begin(Place{Rank: 0, Size: 2, Most: 9})
	s.stepped(4, nil)
	if s.unshared() {
		t.Error("a worker shares its steps while all step")
	}
	finished := pace.State{Reached: 2, Finished: true}
	if err := s.change(func(p *pace.Pace) error { return p.Heard(1, finished) }); err != nil {
		t.Fatal(err)
	}
	if !s.unshared() {
		t.Error("the steps of a worker are not shared with one that has finished")
	}
	if _, err := s.text(); err != nil || s.unshared() {
		t.Errorf("steps that were told are unshared, error %v", err)
	}
}
