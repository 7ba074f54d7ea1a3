package sim

import (
	"errors"
	"strings"
	"testing"

	"gossiptrainer/gossip/state"
)

// States of peers, and of programs that had the workers in the same file, are refused by name.
func TestStatesOfOthersAreRefused(t *testing.T) {
	run := state.Tensor{Name: runTensor, Type: "U8", Data: []byte(`{"round":4,"began":[4,4]}`)}
	for want, tensors := range map[string][]state.Tensor{
		"it is of a peer":           {{Name: "machine/x", Type: "F32"}},
		"it is of an older program": {{Name: "worker0/machine/x", Type: "F32"}, run},
	} {
		_, err := Open(&state.Snapshot{Tensors: tensors}, nil)
		var old *oldError
		if !errors.As(err, &old) || !strings.Contains(err.Error(), want) || old.Hint() == "" {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
