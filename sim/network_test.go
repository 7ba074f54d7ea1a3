package sim

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "gossiptrainer/internal/proptest"
)

func TestQueueYieldsInOrderOfTimeThenCreation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 60).Draw(t, "times")
		var q queue
		for i, at := range times {
			q.push(event{at: time.Duration(at), seq: uint64(i)})
		}
		last := event{at: -1}
		for range times {
			e := q.pop()
			if !last.before(e) {
				t.Fatalf("(%d, %d) after (%d, %d)", e.at, e.seq, last.at, last.seq)
			}
			last = e
		}
		if len(q) != 0 {
			t.Fatalf("%d events left", len(q))
		}
	})
}

func TestWireBytes(t *testing.T) {
	for stream, want := range map[int]int{
		0:         0,
		100:       100 + 12 + 22,
		65536:     65536 + 12 + 5*22,
		1_000_000: 1_000_000 + 16*12 + 62*22,
	} {
		if got := WireBytes(stream); got != want {
			t.Errorf("WireBytes(%d) = %d, want %d", stream, got, want)
		}
	}
}
