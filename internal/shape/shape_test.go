package shape

import (
	"math"
	"slices"
	"testing"
	"time"

	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/topology"

	"pgregory.net/rapid"
)

const ms = time.Millisecond

func TestMessagesShareTheUplinkAndQueueBehindEachOther(t *testing.T) {
	network := Network{
		Uplink: Link{Rate: 8e6, Latency: ms}, // 1 byte a microsecond
		Links:  map[[2]topology.Rank]Link{{1, 2}: {Rate: 8e3, Latency: 2 * ms}},
	}
	senders := []*Sender{network.NewSender(0), network.NewSender(1), network.NewSender(2)}
	us := time.Microsecond
	for _, s := range []struct {
		name     string
		from, to topology.Rank
		bytes    int
		now      time.Duration
		left     time.Duration
		latency  time.Duration
	}{
		{"the first message", 0, 1, 500, 0, 500 * us, ms},
		{"the second waits for the first", 0, 2, 500, 0, 1000 * us, ms},
		{"after a pause the uplink is free", 0, 1, 100, 5000 * us, 5100 * us, ms},
		{"another worker has an uplink of its own", 1, 0, 200, 0, 200 * us, ms},
		{"a link of its own does not use the uplink", 1, 2, 3, 0, 3 * ms, 2 * ms},
		{"its directions are independent", 2, 1, 3, 0, 3 * ms, 2 * ms},
		{"messages on it queue", 1, 2, 1, 0, 4 * ms, 2 * ms},
		{"a peer outside the graph is reached by the uplink", 1, -1, 100, 0, 300 * us, ms},
	} {
		left, arrives := senders[s.from].Book(s.to, s.now, s.bytes)
		if left != s.left || arrives != s.left+s.latency {
			t.Errorf("%s: left at %v, arrives at %v, want %v and %v later", s.name, left, arrives, s.left, s.latency)
		}
	}
}

func TestPromisesAreTurns(t *testing.T) {
	s := Network{Uplink: Link{Rate: 8e6}, Links: map[[2]topology.Rank]Link{{0, 3}: {Rate: 8e3},
		{0, 4}: {Latency: ms}}}.NewSender(0)
	s.Book(1, 0, 5000)
	for i, p := range []struct {
		to   topology.Rank
		now  time.Duration
		want time.Duration
	}{
		{1, 0, 5 * ms},      // behind the bytes already sent
		{2, 0, 6 * ms},      // behind the promise to another receiver
		{1, 2 * ms, 5 * ms}, // which is not twice as long ago
		{3, 0, 0},           // a link of its own
		{3, 0, time.Second},
		{4, 0, 0}, {4, 0, 0}, // no rate, no turns
		{1, time.Second, 0}, // an unused promise gives no credit
	} {
		if got := s.Promise(p.to, p.now, 1000); got != p.want {
			t.Errorf("promise %d: turn in %v, want %v", i, got, p.want)
		}
	}
}

func TestASenderCanBeLimitedForAWhile(t *testing.T) {
	network := Network{Uplink: Link{Rate: 8e6}, Links: map[[2]topology.Rank]Link{{1, 2}: {Rate: 8e3}, {1, 3}: {}}}
	s := network.NewSender(1)
	for _, test := range []struct {
		bits               float64
		uplink, slow, fast float64
	}{{8e5, 8e5, 8e3, 8e5}, {8e9, 8e6, 8e3, 8e9}, {0, 8e6, 8e3, 0}} {
		s.Limit(test.bits)
		got := []float64{s.Link(0).Rate, s.Link(2).Rate, s.Link(3).Rate}
		if want := []float64{test.uplink, test.slow, test.fast}; !slices.Equal(got, want) {
			t.Errorf("limited to %g: %v, want %v", test.bits, got, want)
		}
	}
	s.Limit(8e5)
	if left, _ := s.Book(0, 0, 1000); left != 10*ms {
		t.Errorf("1000 bytes at 8e5 bit/s have left at %v, want 10ms", left)
	}
}

func TestUnlimitedTakesNoTime(t *testing.T) {
	var p Path
	if left, arrives := p.Book(Link{}, new(Gate), 7, 1<<30); left != 7 || arrives != 7 {
		t.Errorf("left at %d, arrives at %d, want 7 and 7", left, arrives)
	}
}

func TestBurstLeavesAtOnceAndIsPaidForLater(t *testing.T) {
	l := Link{Rate: 8e6, Burst: 2000, Latency: ms}
	var g Gate
	var p Path
	now := 10 * ms
	for i, want := range []time.Duration{0, 0, ms} {
		if left, arrives := p.Book(l, &g, now, 1000); left != now+want || arrives != left+ms {
			t.Errorf("kilobyte %d: left %v after now, arrives at %v, want %v", i, left-now, arrives, want)
		}
	}
}

// On any link no byte arrives before it leaves or overtakes another, and the rate is a limit.
func TestOrderAndRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Link{
			Rate:    rapid.Float64Range(1e4, 1e9).Draw(t, "rate"),
			Latency: time.Duration(rapid.IntRange(0, 1e7).Draw(t, "latency")),
			Jitter:  time.Duration(rapid.IntRange(0, 1e7).Draw(t, "jitter")),
			Loss:    rapid.Float64Range(0, 0.9).Draw(t, "loss"),
		}
		var (
			g         Gate
			p         = Path{Seed: 3}
			now, last time.Duration
			total     int
		)
		for range rapid.IntRange(1, 20).Draw(t, "frames") {
			now += time.Duration(rapid.IntRange(0, 1e7).Draw(t, "pause"))
			bytes := rapid.IntRange(0, 20_000).Draw(t, "bytes")
			left, arrives := p.Book(l, &g, now, bytes)
			total += bytes
			if left < now || arrives < left || arrives < last {
				t.Fatalf("sent at %v, left at %v, arrives at %v after %v", now, left, arrives, last)
			}
			if least := time.Duration(float64(total) * 8 / l.Rate * 1e9); bytes > 0 && left < least-time.Microsecond {
				t.Fatalf("%d bytes have left at %v, which takes %v", total, left, least)
			}
			last = arrives
		}
	})
}

func TestLossCostsItsShareOfTheRateAndARoundTrip(t *testing.T) {
	const packets = 100_000
	l := Link{Rate: 8e6, Latency: 5 * ms, Loss: 0.1}
	var g Gate
	p := Path{Seed: 1}
	left, _ := p.Book(l, &g, 0, packets*packet)
	clean := l.serialise(packets * packet)
	if got := float64(left) / float64(clean); math.Abs(got-1/(1-l.Loss)) > 0.01 {
		t.Errorf("with one packet in ten lost it takes %.3f times as long, want 1/0.9", got)
	}
	q, late := Path{Seed: 1}, 0
	for range 1000 {
		var g Gate
		left, arrives := q.Book(l, &g, time.Hour*time.Duration(q.packets+1), packet)
		switch arrives - left {
		case l.Latency:
		case 3 * l.Latency:
			late++
		default:
			if (arrives-left-l.Latency)%(2*l.Latency) != 0 {
				t.Fatalf("on its way for %v", arrives-left)
			}
		}
	}
	if late < 60 || late > 130 {
		t.Errorf("%d of 1000 packets came a round trip late, want about 90", late)
	}
}

func TestJitterSpreadsTheLatency(t *testing.T) {
	l := Link{Latency: 10 * ms, Jitter: 4 * ms}
	p := Path{Seed: 9}
	least, most := time.Hour, time.Duration(0)
	for k := range 2000 {
		now := time.Duration(k) * time.Second
		_, arrives := p.Book(l, new(Gate), now, 100)
		least, most = min(least, arrives-now), max(most, arrives-now)
	}
	if least < 6*ms || least > 6*ms+ms/10 || most > 14*ms || most < 14*ms-ms/10 {
		t.Errorf("latencies from %v to %v, want 6ms to 14ms", least, most)
	}
}

func TestPiecesFitTheRate(t *testing.T) {
	for rate, want := range map[float64]int{1e5: leastPiece, 1e6: 6250, 1e8: Record, 0: Chunk} {
		if got := (Link{Rate: rate, Latency: 1}).Piece(); got != want {
			t.Errorf("%g bit/s: pieces of %d bytes, want %d", rate, got, want)
		}
	}
}
