package main

import (
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

// The record of a run that goes on counts on, and has no round twice.
func TestARecordGoesOn(t *testing.T) {
	s := Session{earlier: earlierParts([]record.Event{
		{Step: &record.Step{Rank: 1, Round: 10, Time: time.Second, Sent: record.Bytes{Wire: 100}, Received: record.Bytes{Wire: 90}}},
		{Step: &record.Step{Rank: 1, Round: 20, Time: 2 * time.Second, Sent: record.Bytes{Wire: 200}, Received: record.Bytes{Wire: 190}}},
		{Score: &record.Score{Rank: 1, Round: 20}},
		{Score: &record.Score{Rank: record.Average, Round: 20}},
	}, 2)}
	told := &record.Step{Rank: 1, Round: 30, Time: time.Second, Sent: record.Bytes{Wire: 5}, Received: record.Bytes{Wire: 6}}
	e, news := s.joined(record.Event{Step: told})
	if !news || e.Step.Time != 3*time.Second || e.Step.Sent.Wire != 205 || e.Step.Received.Wire != 196 || told.Time != time.Second {
		t.Errorf("%+v, news %v; what was told became %+v", e.Step, news, told)
	}
	if _, news := s.joined(record.Event{Step: &record.Step{Rank: 1, Round: 20}}); news {
		t.Error("a round that is done once more is news")
	}
	if _, news := s.joined(record.Event{Step: &record.Step{Rank: 0, Round: 20}}); !news {
		t.Error("the first round of another peer is no news")
	}
	if _, news := s.joined(record.Event{Score: &record.Score{Rank: 1, Round: 20}}); news {
		t.Error("a score that is taken once more is news")
	}
	if e, _ := s.joined(record.Event{Final: &record.Final{Rank: 1, Time: time.Second}}); e.Final.Time != 3*time.Second || e.Final.Sent.Wire != 200 {
		t.Errorf("result %+v", e.Final)
	}
}
