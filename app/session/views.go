package session

import (
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
)

// Remain makes a session that of the members at the end of a run, which have these last steps. Their results are those
// of a run of so many workers.
func Remain(s *Session, run *experiment.Run, last []record.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Run, s.last = run, last
}
