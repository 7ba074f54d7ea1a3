package sim

import (
	"testing"
	"time"

	"gossiptrainer/topology"

	"pgregory.net/rapid"
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

func TestFramesShareTheUplinkAndQueueBehindEachOther(t *testing.T) {
	c := newClocks(3, Network{
		Uplink: Link{Rate: 8e6, Latency: time.Millisecond}, // 1 byte a microsecond
		Links:  map[[2]topology.Rank]Link{{1, 2}: {Rate: 8e3, Latency: 2 * time.Millisecond}},
	})
	us := time.Microsecond
	for _, s := range []struct {
		name     string
		from, to topology.Rank
		bytes    int
		now      time.Duration
		want     time.Duration
	}{
		{"first frame", 0, 1, 500, 0, 500*us + time.Millisecond},
		{"second frame waits for the first", 0, 2, 500, 0, 1000*us + time.Millisecond},
		{"after a pause the uplink is free", 0, 1, 100, 5000 * us, 5100*us + time.Millisecond},
		{"another worker has an uplink of its own", 1, 0, 200, 0, 200*us + time.Millisecond},
		{"a link of its own does not use the uplink", 1, 2, 3, 0, 3*time.Millisecond + 2*time.Millisecond},
		{"its directions are independent", 2, 1, 3, 0, 5 * time.Millisecond},
		{"frames on it queue", 1, 2, 1, 0, 4*time.Millisecond + 2*time.Millisecond},
	} {
		if got := c.arrival(s.from, s.to, s.bytes, s.now); got != s.want {
			t.Errorf("%s: arrives at %v, want %v", s.name, got, s.want)
		}
	}
}

func TestUnlimitedNetworkTakesNoTime(t *testing.T) {
	c := newClocks(2, Network{})
	if got := c.arrival(0, 1, 1<<30, 7); got != 7 {
		t.Errorf("arrives at %v, want 7ns", got)
	}
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
