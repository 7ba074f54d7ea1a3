package telemetry

import (
	"slices"
	"sync"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
)

// maxNotice bounds a notice: two calls of a script, with 64 KiB each in base64.
const maxNotice = 256 << 10

// notices is the topic of the notices of a run. Each worker has one notice, a text that all others get. A new one
// replaces it. It is repeated until the run ends, soon at first and then with each message. So a lost one only costs
// time.
type notices struct {
	topic *pubsub.Topic // nil: this worker hears none

	mu    sync.Mutex
	mine  []byte
	fresh chan struct{} // has room for one
}

// soon is the time from a new notice to its first repetition. Each further one takes twice as long.
const soon = 50 * time.Millisecond

// Notify replaces the notice of this worker.
func (t *Topic) Notify(text []byte) {
	n := &t.notices
	n.mu.Lock()
	n.mine = slices.Clone(text)
	n.mu.Unlock()
	if n.topic == nil {
		return
	}
	select {
	case n.fresh <- struct{}{}:
	default:
	}
}

// post publishes the notice of this worker until t is closed.
func (n *notices) post(t *Topic) {
	pause := t.period
	for {
		late := time.NewTimer(pause)
		select {
		case <-n.fresh:
			pause = soon
		case <-late.C:
			pause = min(2*pause, t.period)
		case <-t.ctx.Done():
			late.Stop()
			return
		}
		late.Stop()
		n.mu.Lock()
		text := n.mine
		n.mu.Unlock()
		if text == nil {
			continue
		}
		if err := n.topic.Publish(t.ctx, text); err != nil && t.ctx.Err() == nil {
			t.c.Log.Debug("notice not published", "err", err)
		}
	}
}
