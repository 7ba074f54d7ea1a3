package node

import (
	"errors"
	"strings"
	"testing"
)

// A worker whose graph takes no worker back is told what happens now, and which policy would have kept its place.
func TestAWorkerThatCannotComeBackIsToldWhatToDo(t *testing.T) {
	_, err := new(Node).ComeBack(t.Context(), nil, nil, nil)
	hinted, ok := errors.AsType[interface {
		error
		Hint() string
	}](err)
	if !errors.Is(err, ErrLeftBehind) || !ok || !strings.Contains(err.Error(), "only a synchronous run on a ring") ||
		!strings.Contains(hinted.Hint(), "the others finish without it") || !strings.Contains(hinted.Hint(), "wait keeps") {
		t.Errorf("%v, hinted %v", err, ok)
	}
}
