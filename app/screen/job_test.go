package screen

import (
	"slices"
	"testing"
)

func TestPartsOfAJobRestAndGoOn(t *testing.T) {
	var told []string
	var j Job
	for _, name := range []string{"first", "second"} {
		j.Add(func(rest func()) {
			told = append(told, name+" rests")
			rest()
			told = append(told, name+" goes on")
		})
	}
	want := []string{"second rests", "first rests", "still", "first goes on", "second goes on"}
	if j.rest(func() { told = append(told, "still") }); !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}

func TestProcessesStandStillUntilTheyEnd(t *testing.T) {
	s, rested := NewStandstill(), 0
	over := make(chan struct{})
	go func() {
		defer close(over)
		(<-s.C)()
	}()
	if s.Part(func() { rested++ }); rested != 1 {
		t.Errorf("rested %d times", rested)
	}
	<-over
	s.End()
	s.End()
	if s.Part(func() { rested++ }); rested != 2 {
		t.Error("without processes the command does not rest")
	}
}
