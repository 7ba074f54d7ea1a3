package session

import (
	"time"

	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/record"
)

// A Place is a place in the record of a simulation. The record up to there is that of a state from which the simulation
// can go on, apart from scores of later rounds: those are computed again.
type Place struct {
	Round  int           `json:"round"`   // before which the state was taken
	Record int64         `json:"record"`  // bytes of the record
	Wall   time.Duration `json:"wall_ns"` // that the run had taken
}

// Mark returns the present place, before a round, once the record is on disk.
func (s *Session) Mark(round int) (Place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	length, err := s.Folder.Sync()
	return Place{Round: round, Record: length, Wall: time.Since(s.began)}, err
}

// goBack opens the folder of a simulation that resumes, and returns the record to its place.
func (s *Session) goBack(dir string) (*runfolder.Folder, error) {
	folder, err := runfolder.Open(s.Run.Config(), dir)
	if err != nil {
		return nil, err
	}
	at := s.Place
	later := func(e record.Event) bool { return e.Score != nil && e.Score.Round >= at.Round }
	if s.record, err = folder.Rewind(at.Record, later); err != nil {
		folder.Close()
		return nil, err
	}
	s.began = s.began.Add(-at.Wall)
	for _, e := range s.record {
		if e.Step != nil && e.Step.Rank < len(s.last) {
			s.last[e.Step.Rank] = *e.Step
			s.parts.See(*e.Step)
			s.watch.See(*e.Step)
		}
	}
	return folder, nil
}
