package session

import (
	"slices"

	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
)

// Members are the workers at the end of a run. Where they come and go, a process on a LAN has its own result alone.
type Members struct {
	Run    *experiment.Run // has a worker for each of them
	IDs    []int           // by rank in the last view; nil where workers stay
	Last   []record.Step   // by rank
	Finals []record.Final  // that have come; by rank
	Digest string          // of the run, for a process that has not all results
	Rounds []int           // that they have done, by rank, for such a process
	Scores []record.Score  // of all, for such a process; by rank
}

// Remain gives a session the members at the end of its run.
func Remain(s *Session, m Members) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Run, s.last, s.members = m.Run, m.Last, m
}

// concludes puts into a summary what a member on a LAN knows of the others. They have results of their own.
func (m *Members) concludes(s *record.Summary) {
	if len(m.Finals) < len(m.IDs) {
		s.Missing = nil
	}
	if m.Digest == "" {
		return
	}
	if len(m.Scores) > 0 {
		s.Grade(m.Scores)
	}
	s.Digest, s.PerWorker, s.Steps = m.Digest, m.Rounds, 0
	for _, n := range m.Rounds {
		s.Steps += n
	}
	if s.Time > 0 {
		s.Rate = float64(s.Steps) / s.Time
	}
}

// numbered returns results with the numbers of workers for people in the place of ranks.
func (m *Members) numbered(finals []record.Final) []record.Final {
	all := slices.Clone(finals)
	for i := range all {
		all[i].Rank = m.number(all[i].Rank)
	}
	return all
}

// number returns the number of a worker for people: the id of a member, or the rank.
func (m *Members) number(rank int) int {
	if rank < len(m.IDs) {
		return m.IDs[rank]
	}
	return rank
}
