package session

import (
	"math"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/sim"
)

// A process that resumes may be killed before it writes a checkpoint. The next one goes back to the same place.
func TestARecordReturnsToItsPlaceTwice(t *testing.T) {
	run := small(t)
	first, _ := started(t, run, "sim", "")
	dir := first.Folder.Dir
	if err := checkpoint.Write(runfolder.SimFolder(run.Config(), dir), checkpoint.Manifest{Run: "small", Round: 4},
		new(state.Snapshot), 2); err != nil {
		t.Fatal(err)
	}
	step := func(rank, round int) record.Event { return record.Event{Step: &record.Step{Rank: rank, Round: round}} }
	score := func(rank, round int) record.Event {
		return record.Event{Score: &record.Score{Rank: rank, Round: round, Accuracy: 0.5}}
	}
	at := sim.Boundary{Round: 4, Began: []int{4, 2, 4}}
	before := []record.Event{step(0, 2), score(0, 2), score(1, 1), step(1, 2), score(1, 2), step(0, 4), score(0, 4),
		score(record.Average, 1)}
	stay := []record.Event{before[0], before[1], before[2], before[3], before[5], before[7]}
	for _, e := range before {
		first.Event(e)
	}
	first.Event(record.Event{Step: &record.Step{Loss: math.Inf(1)}}) // which no record has
	place, err := first.Mark(at)
	if err != nil || place.Events != len(stay) {
		t.Fatalf("%d events at the place, error %v, want %d", place.Events, err, len(stay))
	}
	first.Event(step(2, 4))
	first.End()
	for n := range 3 {
		s, _ := resumed(t, run, "sim", dir, place)
		kept, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(kept.Events) != len(stay) || !reflect.DeepEqual(kept.Events, stay) {
			t.Fatalf("resumed %d times: the record has %d events, want %d", n+1, len(kept.Events), len(stay))
		}
		s.Event(score(1, 2)) // again
		if again, err := s.Mark(at); err != nil || again.Events != place.Events {
			t.Errorf("resumed %d times: %d events at the place, error %v, want %d", n+1, again.Events, err, place.Events)
		}
		s.Event(score(2, 3)) // which was not computed before
		s.Event(step(1, 4))
		s.End()
	}
	place.Events += 9
	_, err = Start(t.Context(), run, silent("sim", dir, place, new(strings.Builder)))
	if err == nil || !strings.HasSuffix(err.Error(), "events.jsonl: 8 events, its checkpoint has seen 15: start again") {
		t.Errorf("a record that lacks events: error %v", err)
	}
}

// The results of a simulation get the room of its older checkpoints, and do not wait for it.
func TestResultsGetTheRoomOfOldCheckpoints(t *testing.T) {
	run := small(t)
	s, said := started(t, run, "sim", "")
	defer s.End()
	dir := runfolder.SimFolder(run.Config(), s.Folder.Dir)
	for round := 1; round <= 2; round++ {
		m := checkpoint.Manifest{Round: round}
		if err := checkpoint.Write(dir, m, new(state.Snapshot), 2); err != nil {
			t.Fatal(err)
		}
	}
	err := s.Saver.Save(runfolder.SpaceError{Dir: s.Folder.Dir, What: "a result"}, func() error {
		if checkpoint.Count(dir) > 1 {
			return syscall.ENOSPC
		}
		return nil
	})
	if newest, there := checkpoint.Newest(dir); err != nil || !there || newest != 2 {
		t.Errorf("error %v, the newest checkpoint is of round %d", err, newest)
	}
	if strings.Contains(said.String(), "no room") {
		t.Errorf("it says %s", said)
	}
}
