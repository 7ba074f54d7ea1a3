package join

import (
	"sync"
	"time"

	"gossiptrainer/node/handshake"
)

// ballotsPerDetect is how often a call repeats a ballot in the time after which silence counts as a
// loss.
const ballotsPerDetect = 4

// A call is the exchange of ballots with one peer during a roll call.
type call struct {
	talk  *handshake.Talk
	lower bool // the smaller id has opened it
	out   chan func() error
	beat  time.Duration // between two ballots
	done  chan struct{}
	once  sync.Once
}

func newCall(t *handshake.Talk, lower bool, detect time.Duration) *call {
	return &call{
		talk: t, lower: lower, beat: detect / ballotsPerDetect,
		out: make(chan func() error, 1), done: make(chan struct{}),
	}
}

// tell leaves the ballot, or a refusal, for the writer. It replaces an older ballot that has not been
// sent. The caller holds the roll call's lock.
func (c *call) tell(b ballot, no *handshake.RefusedError) {
	select {
	case <-c.out:
	default:
	}
	said := false
	c.out <- func() error {
		if no != nil {
			if said {
				return nil
			}
			said = true
			return c.talk.RefuseOnly(no) // the other end closes the call when it has read it
		}
		c.talk.Stream.SetWriteDeadline(time.Now().Add(handshake.Timeout))
		return c.talk.Say(handshake.AboutBallot, b.append(nil))
	}
}

// write sends the ballots from tell until the call ends, and repeats the last one as a sign of life.
func (c *call) write() {
	again := time.NewTicker(c.beat)
	defer again.Stop()
	say := func() error { return nil }
	for {
		select {
		case say = <-c.out:
		case <-again.C:
		case <-c.done:
			return
		}
		if say() != nil {
			c.talk.Stream.Reset()
			return
		}
	}
}

func (c *call) hangUp() {
	c.once.Do(func() {
		close(c.done)
		c.talk.Stream.Reset()
	})
}
