package link

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire"
)

func TestOnlyFramesThatNoWorkerSendsAreForged(t *testing.T) {
	for _, test := range []struct {
		err    error
		forged bool
	}{
		{fmt.Errorf("frame: %w", wire.ErrChecksum), true},
		{errEpoch, true},
		{errCutOff, false}, // the process may have died while it wrote
		{errNoBye, false},
		{io.ErrUnexpectedEOF, false},
	} {
		got := judged(test.err)
		if errors.Is(got, gossip.ErrForged) != test.forged || !errors.Is(got, test.err) || got.Error() != test.err.Error() {
			t.Errorf("%v: judged %v (forged: %v), want forged: %v", test.err, got, errors.Is(got, gossip.ErrForged), test.forged)
		}
	}
}
