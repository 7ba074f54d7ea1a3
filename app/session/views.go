package session

import (
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
)

// Remain gives a session the members at the end of a run: their last steps and results, by rank in the last view. The
// run has one worker for each of them.
func Remain(s *Session, run *experiment.Run, last []record.Step, finals []record.Final) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Run, s.last, s.finals = run, last, finals
}
