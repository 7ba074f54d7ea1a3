package shape

import (
	"slices"
	"testing"
	"time"

	"gossiptrainer/topology"

	"pgregory.net/rapid"
)

// run asks a server for all that leaves and arrives, in its order.
func run[T any](s *Server[T], now time.Duration) []Departure[T] {
	all := slices.Clone(s.Leave(now))
	for next, ok := s.Next(); ok; next, ok = s.Next() {
		all = append(all, s.Leave(next)...)
	}
	return all
}

func TestReceiversShareARateEvenly(t *testing.T) {
	link := Link{Rate: 8e6, Latency: ms} // 1 byte a microsecond
	s := NewSharer[string](&Network{Uplink: link, Links: map[[2]topology.Rank]Link{{0, 3}: {Rate: 8e3}}}, 0)
	up := send(s, 1, 0, 4000, "long")
	send(s, 2, ms, 1000, "short")
	send(s, 2, ms, 500, "behind it")
	own := send(s, 3, ms, 2, "a link of its own")
	want := []Departure[string]{
		{3*ms + ms, "short"},     // from 1 ms on at half the rate
		{4*ms + ms, "behind it"}, // it, too
		{5500*time.Microsecond + ms, "long"},
	}
	if got := run(up, ms); !slices.Equal(got, want) {
		t.Errorf("%v arrive, want %v", got, want)
	}
	if got := run(own, ms); len(got) != 1 || got[0].Arrives != 3*ms {
		t.Errorf("%v arrives, want at 3ms", got)
	}
	if s.Link(2) != link || s.Link(3).Rate != 8e3 {
		t.Errorf("the links are %v and %v", s.Link(2), s.Link(3))
	}
}

func TestTurnsTellWhatWasReckonedBefore(t *testing.T) {
	s := NewSharer[int](&Network{Uplink: Link{Rate: 8e6}}, 0)
	up := send(s, 1, 0, 1000, 1)
	before := up.Turn
	if next, _ := up.Next(); next != ms {
		t.Fatalf("the first leaves at %v, want 1ms", next)
	}
	send(s, 2, 0, 1000, 2)
	if next, _ := up.Next(); next != 2*ms || up.Turn == before {
		t.Errorf("with another it leaves at %v, turn %d after %d, want 2ms and another turn", next, up.Turn, before)
	}
	if left := up.Leave(ms); len(left) != 0 {
		t.Errorf("%v has left too early", left)
	}
	if left := up.Leave(2 * ms); len(left) != 2 {
		t.Errorf("%v have left, want both", left)
	}
	if next, ok := up.Next(); ok {
		t.Errorf("something leaves at %v", next)
	}
}

// A single receiver gets the same times as by booking.
func TestSharingWithNobodyIsBooking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Link{
			Rate:    rapid.SampledFrom([]float64{0, 1e5, 1e7}).Draw(t, "rate"),
			Burst:   rapid.IntRange(0, 5000).Draw(t, "burst"),
			Latency: time.Duration(rapid.IntRange(0, 1e7).Draw(t, "latency")),
			Jitter:  time.Duration(rapid.SampledFrom([]int{0, 1e6}).Draw(t, "jitter")),
			Loss:    rapid.SampledFrom([]float64{0, 0.3}).Draw(t, "loss"),
		}
		if l.Jitter > 0 || l.Loss > 0 {
			l.Burst = 0 // the packets that it is made of differ
		}
		network := Network{Uplink: l, Seed: 5}
		booked, shared := network.NewSender(0), NewSharer[int](&network, 0)
		var now time.Duration
		var want []time.Duration
		var got []Departure[int]
		var up *Server[int]
		for i := range rapid.IntRange(1, 20).Draw(t, "messages") {
			now += time.Duration(rapid.IntRange(0, 1e7).Draw(t, "pause"))
			if up != nil {
				for next, ok := up.Next(); ok && next <= now; next, ok = up.Next() {
					got = append(got, up.Leave(next)...)
				}
			}
			bytes := rapid.IntRange(0, 20_000).Draw(t, "bytes")
			_, arrives := booked.Book(1, now, bytes)
			want = append(want, arrives)
			up = send(shared, 1, now, bytes, i)
			got = append(got, up.Leave(now)...)
		}
		got = append(got, run(up, now)...)
		for i, d := range got {
			if off := d.Arrives - want[i]; d.What != i || max(off, -off) > 10*time.Microsecond {
				t.Fatalf("message %d is %d and arrives at %v, want %v", i, d.What, d.Arrives, want[i])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d of %d messages arrive", len(got), len(want))
		}
	})
}

// The flows together use exactly the rate.
func TestSharedRateIsUsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewSharer[int](&Network{Uplink: Link{Rate: 8e6}}, 0)
		var up *Server[int]
		total := 0
		for i := range rapid.IntRange(1, 30).Draw(t, "messages") {
			bytes := rapid.IntRange(1, 20_000).Draw(t, "bytes")
			total += bytes
			up = send(s, topology.Rank(rapid.IntRange(1, 5).Draw(t, "to")), 0, bytes, i)
		}
		all := run(up, 0)
		last := all[len(all)-1].Arrives
		if want := time.Duration(total) * time.Microsecond; max(last-want,
			want-last) > 50*time.Nanosecond*time.Duration(len(all)) {
			t.Errorf("%d bytes have left at %v, want %v", total, last, want)
		}
	})
}

func TestMessagesOfALostLinkDoNotLeave(t *testing.T) {
	s := NewSharer[string](&Network{Uplink: Link{Rate: 8e6}}, 0) // 1 byte a microsecond
	send(s, 1, 0, 3000, "lost")
	send(s, 1, 0, 1000, "lost, too")
	up := send(s, 2, 0, 3000, "kept")
	if got := s.Drop(1, 2*ms); got != up {
		t.Error("the messages have another server")
	}
	s.Drop(3, 2*ms) // to which nothing was sent
	if got := run(up, 2*ms); !slices.Equal(got, []Departure[string]{{4 * ms, "kept"}}) {
		t.Errorf("%v arrive, want the kept one at 4ms: 1000 bytes in the first 2 ms, and the rest alone", got)
	}
}

func TestARateCanBeLimitedForAWhile(t *testing.T) {
	network := Network{Uplink: Link{Rate: 8e6}, Links: map[[2]topology.Rank]Link{{0, 3}: {}, {0, 4}: {Rate: 8e3}}}
	s := NewSharer[int](&network, 0)
	up := send(s, 1, 0, 3000, 1)
	s.Link(3) // is there before the limit, and the next one after
	if servers := s.Limit(8e5, ms); len(servers) != 2 || servers[0] != up {
		t.Errorf("%d servers, want the uplink and one more", len(servers))
	}
	if s.Link(1).Rate != 8e5 || s.Link(3).Rate != 8e5 || s.Link(4).Rate != 8e3 {
		t.Errorf("rates %v, %v and %v, want 8e5 twice and 8e3", s.Link(1).Rate, s.Link(3).Rate, s.Link(4).Rate)
	}
	if left := up.Leave(11 * ms); len(left) != 0 {
		t.Errorf("%v has left", left)
	}
	s.Limit(0, 11*ms) // 1000 bytes in the first millisecond, 1000 in the next ten
	if got := run(up, 11*ms); len(got) != 1 || got[0].Arrives != 12*ms {
		t.Errorf("%v arrives, want at 12ms", got)
	}
	if s.Link(3).Rate != 0 {
		t.Errorf("a link without a rate has %v", s.Link(3).Rate)
	}
}

// send sends a message of order 0.
func send[T any](s *Sharer[T], to topology.Rank, now time.Duration, bytes int, what T) *Server[T] {
	return s.Send(to, now, Message[T]{Bytes: bytes, What: what})
}

// A message of a later order waits, and goes on where it was when those before it have left.
func TestLaterOrdersWait(t *testing.T) {
	s := NewSharer[string](&Network{Uplink: Link{Rate: 8e6}}, 0) // 1000 bytes per ms
	s.Send(1, 0, Message[string]{Bytes: 4000, Order: 2, What: "later"})
	s.Send(2, ms, Message[string]{Bytes: 1000, Order: 1, What: "first"})
	up := s.Send(3, ms, Message[string]{Bytes: 2000, Order: 1, What: "second"})
	got := run(up, ms)
	want := []Departure[string]{{3 * ms, "first"}, {4 * ms, "second"}, {7 * ms, "later"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
