package link

import (
	"testing"
	"testing/synctest"
	"time"

	"gossiptrainer/gossip"
)

// The messages before a last bye have some time to leave: a neighbour needs them to end its round.
func TestMessagesBeforeTheLastByeMayLeave(t *testing.T) {
	last := outgoing{frame: gossip.Frame{Kind: gossip.Bye, Payload: []byte("stopped")}}
	for name, test := range map[string]struct {
		wait time.Duration
		want []gossip.FrameKind
	}{
		"in time": {lastWords / 2, []gossip.FrameKind{gossip.Request, gossip.Data, gossip.Bye}},
		"late":    {2 * lastWords, []gossip.FrameKind{gossip.Bye}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue(nil)
				q.put(outgoing{frame: gossip.Frame{Kind: gossip.Data, Round: 7}})
				q.put(outgoing{frame: gossip.Frame{Kind: gossip.Request, Round: 7}})
				q.last(last)
				time.Sleep(test.wait)
				synctest.Wait()
				for _, kind := range test.want {
					if o, ok := q.next(1 << 20); !ok || o.frame.Kind != kind {
						t.Fatalf("%+v, %v: want a frame of kind %d", o.frame, ok, kind)
					}
				}
				time.Sleep(2 * lastWords) // nothing of a later time is dropped, and nothing comes twice
				synctest.Wait()
				if o, ok := q.next(1 << 20); ok {
					t.Errorf("%+v after the bye", o.frame)
				}
			})
		})
	}
}
