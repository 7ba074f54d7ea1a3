package session

import (
	"time"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/sim"
)

// A Place is a place in the record of a simulation. The record up to there is that of a state from which the simulation
// can go on, apart from scores of later rounds: those are computed again.
type Place struct {
	Round  int           `json:"round"`   // before which the state was taken
	Began  []int         `json:"began"`   // by worker: the round that it begins again
	Events int           `json:"events"`  // of the record, without those scores
	Wall   time.Duration `json:"wall_ns"` // that the run had taken
}

// Mark returns the present place, that of a state, once the record is on disk.
func (s *Session) Mark(at sim.Boundary) (Place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, err := s.Folder.Sync()
	p := Place{Round: at.Round, Began: at.Began, Events: events, Wall: time.Since(s.began)}
	for i := range s.scores {
		if p.again(&s.scores[i]) {
			p.Events--
		}
	}
	return p, err
}

// again reports whether a score is computed again.
func (p *Place) again(score *record.Score) bool {
	if score.Rank >= 0 && score.Rank < len(p.Began) {
		return score.Round >= p.Began[score.Rank]
	}
	return score.Round >= p.Round
}

// goBack opens the folder of a simulation that resumes, and returns the record to its place.
func (s *Session) goBack(dir string) (*runfolder.Folder, error) {
	folder, err := runfolder.Open(s.Run.Config(), dir)
	if err != nil {
		return nil, err
	}
	at := s.Place
	later := func(e record.Event) bool { return e.Score != nil && at.again(e.Score) }
	if s.record, err = folder.Rewind(at.Events, later); err != nil {
		folder.Close()
		return nil, err
	}
	s.began = s.began.Add(-at.Wall)
	for _, e := range s.record {
		s.remember(e)
	}
	return folder, nil
}
