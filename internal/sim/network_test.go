package sim

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/internal/shape"
)

// Like a simulation, the test adds events between others, and takes them one by one or by time.
func TestQueueYieldsInOrderOfTimeThenCreation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.SampledFrom([]int{3, 1000, 1 << 40}).Draw(t, "span")
		var q queue
		last, left, seq := event{at: 0}, 0, uint64(0)
		check := func(e event) {
			if left--; !last.before(e) && e.seq != 0 {
				t.Fatalf("(%d, %d) after (%d, %d)", e.at, e.seq, last.at, last.seq)
			}
			last = e
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			for range rapid.IntRange(0, 9).Draw(t, "new") {
				q.push(event{at: last.at + time.Duration(rapid.IntRange(0, span).Draw(t, "later")), seq: seq})
				seq++
				left++
			}
			if q.size() != left {
				t.Fatalf("%d events, want %d", q.size(), left)
			}
			if left == 0 {
				continue
			}
			first := *q.first()
			if rapid.Bool().Draw(t, "one") {
				check(q.pop())
			} else {
				batch := q.batch()
				for _, e := range batch {
					check(e)
				}
				if batch[0] != first || left > 0 && q.first().at == first.at {
					t.Fatalf("%d events from %v on are not all of their time", len(batch), first)
				}
				first = last
				q.reuse(batch)
			}
			if last != first {
				t.Fatalf("first is %v, taken is %v", first, last)
			}
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
		{1_000_000, 0, 1_000_000 + 5*12 + (1+3*16+13)*22},
		{100_000, 1e8, 100_000 + 7*(12+22)},
		{100_000, 1e6, 100_000 + 16*(12+22)},
	} {
		if got := WireBytes(test.stream, shape.Link{Rate: test.rate}); got != test.want {
			t.Errorf("%d bytes at %g bit/s take %d, want %d", test.stream, test.rate, got, test.want)
		}
	}
}
