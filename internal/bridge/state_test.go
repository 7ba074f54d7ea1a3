package bridge

import (
	"errors"
	"testing"
)

// An empty state means that the script has none to give. This costs the checkpoint of that round, not the run.
func TestAnEmptyStateIsNone(t *testing.T) {
	s := &Script{stated: make(chan struct{}, 1), gone: make(chan struct{})}
	s.blobs.newest = blob{5, nil}
	if _, err := s.State(5); !errors.Is(err, errNoState) {
		t.Errorf("error %v, want none there", err)
	}
	s.turns.phase = resting
	if _, err := s.State(5); !errors.Is(err, ErrFinished) {
		t.Errorf("after FINISH the error is %v, want that no step follows", err)
	}
	s.blobs.newest = blob{6, []byte("x")}
	if got, err := s.State(6); err != nil || string(got) != "x" {
		t.Errorf("state %q, error %v", got, err)
	}
}

// A hungUp is a terminal that is gone.
type hungUp struct{}

func (hungUp) Write([]byte) (int, error) { return 0, errors.New("input/output error") }

// A script goes on although its output is lost: it may still have its state to write.
func TestAScriptDoesNotWaitForALostTerminal(t *testing.T) {
	s, err := Start(t.Context(), Options{Command: actor("chatty"), Rank: -1, Out: hungUp{}, Err: hungUp{}})
	if err != nil {
		t.Fatal(err)
	}
	exit, ok := errors.AsType[*Exit](s.Wait())
	if !ok || exit.Code != 0 {
		t.Errorf("%+v, want that it ended by itself", exit)
	}
}
