package node

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/journal"
	"gossiptrainer/internal/node/link"
	"gossiptrainer/topology"
)

// An echo is a transport whose neighbours answer each message at once with one of the same round.
type echo struct{ *script }

func (e echo) Send(frames []gossip.Frame) {
	for _, f := range frames {
		kind := link.FrameIn
		if f.Kind == gossip.Bye {
			kind = link.PeerDone
		}
		f.From, f.To, f.Payload = f.To, f.From, slices.Clone(f.Payload)
		e.events <- link.Event{Kind: kind, Peer: f.From, Frame: f}
	}
}

// Frames that come while the driver asks the layers one by one are handled at once, and not when a second has passed.
func TestEventsBetweenTwoCallsOfTheCoreDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := task{n: 2, dim: 4, rounds: 20}.worker(t, 1)
		log, err := journal.Open(t.TempDir(), gossip.SlotsOf(w.Machine), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		w.Checkpoints = &Checkpoints{Journal: log, Take: func(int) {}, Write: func(int) error { return nil }}
		s, began := newScript(), time.Now()
		s.up(topology.Rank(0))
		d, err := newDriver(w, echo{s})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("20 rounds without any delay took %v", took)
		}
	})
}
