package link

import (
	"testing"
	"testing/synctest"
	"time"

	"gossiptrainer/gossip"
)

// A message waits for those of earlier rounds to other neighbours, until they have left or for a second. Repairs do not
// wait.
func TestMessagesLeaveByRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrder()
		queues := [3]*queue{newQueue(o), newQueue(o), newQueue(o)}
		over, idle := make(chan struct{}), make(chan time.Time)
		taken := func(q *queue) <-chan gossip.Frame {
			frames := make(chan gossip.Frame, 1)
			go func() {
				for {
					if next, ok := q.take(over, idle); !ok {
						return
					} else if next.sign == 0 {
						frames <- next.frame
						return
					}
				}
			}()
			synctest.Wait()
			return frames
		}
		message := func(round int) outgoing { return outgoing{frame: gossip.Frame{Kind: gossip.Data, Round: round}} }
		for _, q := range queues[:2] {
			q.put(message(7))
			if len(taken(q)) == 0 {
				t.Fatal("messages of one round wait for each other")
			}
		}
		queues[2].put(message(8))
		later := taken(queues[2])
		queues[0].sent()
		if synctest.Wait(); len(later) > 0 {
			t.Fatal("a message of round 8 leaves beside one of round 7")
		}
		queues[2].put(outgoing{frame: gossip.Frame{Kind: gossip.Repair, Round: 6}})
		if synctest.Wait(); len(later) == 0 || (<-later).Kind != gossip.Repair {
			t.Fatal("a repair waits behind a message that waits")
		}
		queues[2].sent()
		later = taken(queues[2])
		queues[1].sent()
		if synctest.Wait(); len(later) == 0 || (<-later).Round != 8 {
			t.Fatal("a message waits for none")
		}

		queues[1].put(message(9))
		later = taken(queues[1])
		time.Sleep(patience)
		idle <- time.Now()
		if synctest.Wait(); len(later) == 0 {
			t.Errorf("a message waits longer than %v for a neighbour that does not read", patience)
		}
		queues[0].put(message(10))
		later = taken(queues[0])
		for _, q := range queues[1:] { // their links are lost
			q.sent()
		}
		if synctest.Wait(); len(later) == 0 {
			t.Error("a message waits for lost links")
		}
		close(over)
	})
}
