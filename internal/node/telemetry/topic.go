// Package telemetry is the status topic of a run: what its peers tell all others by
// gossipsub. They tell how they are doing, their results, and that the run must stop.
//
// Messages may be lost; so they say how things are, never what has changed, and are
// repeated. No parameter travels this way, and nothing that a worker computes depends on it.
package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	"gossiptrainer/internal/node/handshake"
	"gossiptrainer/internal/node/socket"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

const (
	maxMessage = 16 << 10               // bytes of one message
	flushTime  = 200 * time.Millisecond // for gossipsub to pass on what it was given last
)

// A Config says for which worker of which run a topic is.
type Config struct {
	Host    host.Host // serves members alone
	Run     string
	Members handshake.Members
	Process uint64  // number of this process, which differs from the number of an earlier one
	Slowest float64 // bits per second of the run's slowest link, 0 without a limit
	// Observe sees the news of the others.
	Observe func(record.Event)
	Log     *slog.Logger
}

// A Topic is one worker's part in the status topic.
type Topic struct {
	c        Config
	known    *known
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	period   time.Duration // between two messages of a peer, the last ones apart
	news     *pubsub.Topic // nil for a run of one
	control  *pubsub.Topic
	received atomic.Int64 // bytes
	stopped  chan error   // a worker has stopped the run
}

// Join joins the topic of a run. Messages from outside its members and
// messages that make no sense are neither believed nor passed on.
func Join(c Config) (*Topic, error) {
	ctx, cancel := context.WithCancel(context.Background())
	n := len(c.Members.IDs)
	t := &Topic{
		c: c, known: newKnown(c.Members, c.Process), ctx: ctx, cancel: cancel,
		period: newsPeriod(n, c.Slowest), stopped: make(chan error, 1),
	}
	if n == 1 {
		return t, nil
	}
	if err := t.join(); err != nil {
		cancel()
		return nil, fmt.Errorf("node: gossipsub: %w", err)
	}
	t.wg.Go(t.publish)
	return t, nil
}

func (t *Topic) join() error {
	base := "/gossiptrainer/" + t.c.Run
	news, control := base+"/telemetry/1", base+"/control/1"
	inRun := func(id peer.ID, _ string) bool {
		_, member := t.c.Members.Rank(id)
		return member
	}
	ps, err := pubsub.NewGossipSub(t.ctx, t.c.Host,
		pubsub.WithMessageSignaturePolicy(pubsub.StrictSign),
		pubsub.WithMaxMessageSize(2*maxMessage),
		pubsub.WithSubscriptionFilter(pubsub.NewAllowlistSubscriptionFilter(news, control)),
		pubsub.WithPeerFilter(inRun),
		pubsub.WithAppSpecificRpcInspector(func(_ peer.ID, rpc *pubsub.RPC) error {
			t.received.Add(int64(proto.Size(&rpc.RPC)))
			return nil
		}))
	if err != nil {
		return err
	}
	if t.news, err = t.listen(ps, news, t.readNews); err != nil {
		return err
	}
	t.control, err = t.listen(ps, control, t.readStop)
	return err
}

// A reader returns what to do when a message of a worker arrives, nil for one that is no good.
type reader func(from topology.Rank, text []byte) func()

// listen joins a topic and reads it until t is closed.
func (t *Topic) listen(ps *pubsub.PubSub, name string, read reader) (*pubsub.Topic, error) {
	judge := func(_ context.Context, _ peer.ID, m *pubsub.Message) pubsub.ValidationResult {
		from, member := t.c.Members.Rank(m.GetFrom())
		if !member || len(m.Data) > maxMessage {
			return pubsub.ValidationReject
		}
		act := read(from, m.Data)
		if act == nil {
			return pubsub.ValidationReject
		}
		m.ValidatorData = act
		return pubsub.ValidationAccept
	}
	if err := ps.RegisterTopicValidator(name, judge, pubsub.WithValidatorInline(true)); err != nil {
		return nil, err
	}
	topic, err := ps.Join(name)
	if err != nil {
		return nil, err
	}
	sub, err := topic.Subscribe()
	if err != nil {
		return nil, err
	}
	t.wg.Go(func() {
		for {
			m, err := sub.Next(t.ctx)
			if err != nil {
				return
			}
			if from, _ := t.c.Members.Rank(m.GetFrom()); from != t.c.Members.Self {
				m.ValidatorData.(func())()
			}
		}
	})
	return topic, nil
}

func (t *Topic) readNews(from topology.Rank, text []byte) func() {
	news, ok := parse(from, text)
	if !ok {
		return nil
	}
	return func() {
		for _, e := range t.known.note(from, news) {
			t.c.Observe(e)
		}
	}
}

func (t *Topic) readStop(from topology.Rank, text []byte) func() {
	why, err := handshake.ParseStop(text, len(t.c.Members.IDs))
	if err != nil || why.Rank != from {
		return nil
	}
	return func() { t.Stop(why) }
}

// Close leaves the topic.
func (t *Topic) Close() {
	t.cancel()
	t.wg.Wait()
}

// Post takes what happened to this worker into its next message.
func (t *Topic) Post(e record.Event) { t.known.post(e) }

// Ended reports whether a worker has told that it is through with its rounds.
func (t *Topic) Ended(rank topology.Rank) bool { return t.known.ended(rank) }

// Finals returns the results known so far, in rank order.
func (t *Topic) Finals() []record.Final { return t.known.finals() }

// Others counts the other workers that have been heard of.
func (t *Topic) Others() int { return t.known.others() }

// Received returns how many bytes of gossipsub have come in.
func (t *Topic) Received() int64 { return t.received.Load() }

// Stopped delivers that a worker has stopped the run, as a *handshake.StoppedError.
func (t *Topic) Stopped() <-chan error { return t.stopped }

// Stop ends what this worker does for the run; the first reason counts.
func (t *Topic) Stop(why *handshake.StoppedError) {
	select {
	case t.stopped <- why:
	default:
	}
}

// StopOthers tells all that the run has ended early, and why.
func (t *Topic) StopOthers(why *handshake.StoppedError) {
	if t.control == nil {
		return
	}
	if err := t.control.Publish(t.ctx, handshake.EncodeStop(why)); err != nil {
		t.c.Log.Warn("could not stop the others", "err", err)
	}
}

// Flush gives what was told the others at that time the rest of the time to leave.
func (t *Topic) Flush(told time.Time) {
	if t.control != nil {
		socket.Sleep(t.ctx, flushTime-time.Since(told))
	}
}

// publish repeats the message of this worker until t is closed.
func (t *Topic) publish() {
	for socket.Sleep(t.ctx, t.period) {
		t.announce()
	}
}

// announce publishes the message as it is now.
func (t *Topic) announce() {
	if t.news == nil {
		return
	}
	text, err := t.known.next()
	if err == nil {
		err = t.news.Publish(t.ctx, text)
	}
	if err != nil && t.ctx.Err() == nil {
		t.c.Log.Debug("status message not published", "err", err)
	}
}

// Collect publishes what has been posted and waits until all workers have all results, or
// until those that lack some have been silent for 5 seconds, on slow links longer. The first
// to see that all have all leaves, and says so: its view is true for all, so they
// leave as well. It fails if another worker stops the run, or ctx ends.
func (t *Topic) Collect(ctx context.Context) error {
	t.announce()
	last, told := time.Now(), false
	for {
		now := t.known.look(last)
		last = now.last
		if now.all && !told || now.settled {
			told = true
			t.announce()
		}
		if now.settled {
			if t.news != nil {
				socket.Sleep(ctx, flushTime)
			}
			return nil
		}
		quiet := time.NewTimer(time.Until(last.Add(silence(t.period))))
		select {
		case <-now.changed:
		case <-quiet.C:
			t.c.Log.Warn("some workers have not told their result",
				"known", len(t.Finals()), "of", len(t.c.Members.IDs))
			return nil
		case err := <-t.stopped:
			return err
		case <-ctx.Done():
			return fmt.Errorf("node: finish: %w", context.Cause(ctx))
		}
		quiet.Stop()
	}
}
