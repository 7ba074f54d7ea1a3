package link

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
)

// A lostStream can be reset.
type lostStream struct{ network.Stream }

func (lostStream) Reset() error { return nil }

// A message waits for those of earlier rounds alone, until they have left, for a second, or until its link is over.
func TestMessagesLeaveByRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrder()
		links := make([]*link, 4)
		for i := range links {
			links[i] = &link{to: &neighbour{shared: &shared{order: o}}, over: make(chan struct{}), stream: lostStream{}}
		}
		began := func(k *link, round int) <-chan time.Duration {
			took := make(chan time.Duration, 1)
			since := time.Now()
			go func() { o.begin(k, round); took <- time.Since(since) }()
			synctest.Wait()
			return took
		}
		o.begin(links[0], 7)
		o.begin(links[1], 7) // the same round
		later := began(links[2], 8)
		o.end(links[1])
		synctest.Wait()
		if len(later) > 0 {
			t.Fatal("a message of round 8 leaves beside one of round 7")
		}
		o.end(links[0])
		if took := <-later; took != 0 {
			t.Errorf("it waited for %v after the last one of round 7", took)
		}
		if took := <-began(links[3], 9); took != patience {
			t.Errorf("a message waited for %v for a neighbour that does not read, want %v", took, patience)
		}
		over := began(links[0], 9)
		links[0].fail(errors.New("lost"))
		if took := <-over; took != 0 {
			t.Errorf("a lost link waited for %v", took)
		}
	})
}
