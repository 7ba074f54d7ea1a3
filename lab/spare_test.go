package lab

import (
	"strings"
	"testing"
)

func TestTheRunGoesOnWithoutAPeerThatDied(t *testing.T) {
	s := &stage{t: t, spares: func(f Failure) bool { return f.Died }}
	if err := s.run(t.Context(), "finish", "die always", "finish"); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(s.lines, "\n"); !strings.Contains(text, "1 its process ended: signal: killed after round 7: the run goes on without it") {
		t.Errorf("log %q, want that the run goes on without peer 1", text)
	}
}

func TestARunDoesNotGoOnWithoutAnyPeerOrAfterAFailure(t *testing.T) {
	tests := map[string][]string{
		"all die":             {"die always", "die always"},
		"one gives up itself": {"wait", "fail"},
	}
	for name, roles := range tests {
		t.Run(name, func(t *testing.T) {
			s := &stage{t: t, spares: func(f Failure) bool { return f.Died }}
			if err := s.run(t.Context(), roles...); err == nil {
				t.Error("no error")
			}
		})
	}
}
