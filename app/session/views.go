package session

import (
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
)

// Remain makes a session that of the members at the end of a run, which have these last steps and results, by rank in
// the last view. The run is one of so many workers.
func Remain(s *Session, run *experiment.Run, last []record.Step, finals []record.Final) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Run, s.last, s.finals = run, last, finals
}
