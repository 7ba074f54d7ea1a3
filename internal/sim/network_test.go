package sim

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/internal/shape"
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
	const record = 16<<10 - 12 // with its header of 12 bytes one TLS record
	for _, test := range []struct {
		stream int
		rate   float64
		want   int
	}{
		{0, 0, 0},
		{100, 0, 100 + 12 + 22},
		{record, 0, record + 12 + 22},
		{65536, 0, 65536 + 2*12 + 5*22},
		{1_000_000, 0, 1_000_000 + 17*12 + (1+15*4+1)*22},
		{100_000, 1e8, 100_000 + 7*(12+22)},
		{100_000, 1e6, 100_000 + 16*(12+22)},
	} {
		if got := WireBytes(test.stream, shape.Link{Rate: test.rate}); got != test.want {
			t.Errorf("%d bytes at %g bit/s take %d, want %d", test.stream, test.rate, got, test.want)
		}
	}
}
