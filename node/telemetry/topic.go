// Package telemetry is the status topic of a run, over gossipsub. Each peer publishes its state and
// its result, and that the run must stop.
//
// Messages may be lost, so they hold states, never changes, and are repeated. They carry no
// parameters, and no result of training depends on them.
package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"google.golang.org/protobuf/proto"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

const (
	maxMessage = 16 << 10               // bytes of one message, its notice apart
	flushTime  = 200 * time.Millisecond // for gossipsub to send the last message
)

// A Config names the worker and the run of a topic.
type Config struct {
	Host    host.Host // serves only members
	Run     string
	Members handshake.Members
	Limits  record.Limits // of the run: messages of others with numbers beyond them are not used
	Process uint64        // number of this process, which differs from those of earlier ones
	Slowest float64       // bits per second of the run's slowest link, 0 without a limit
	// Observe gets the events of the other workers.
	Observe func(record.Event)
	// Notice returns what to do with the notice of another worker, nil if no worker can give it. Nil: this worker takes
	// none.
	Notice func(from topology.Rank, text []byte) func()
	Log    *slog.Logger
}

// A Topic is one worker's part in the status topic of a run.
type Topic struct {
	c        Config
	known    *known
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	period   time.Duration // between two messages of a peer, the last ones apart
	news     *pubsub.Topic // nil for a run of one
	control  *pubsub.Topic
	reminder event.Emitter   // reminds gossipsub of peers
	received atomic.Int64    // bytes
	fresh    chan struct{}   // there is a new notice; has room for one
	stopped  chan error      // a worker has stopped the run
	unheard  map[peer.ID]int // reminders since the topic had a connected member
}

// Join joins the topic of a run. It neither uses nor forwards messages that are malformed or come from
// outside the members.
func Join(c Config) (*Topic, error) {
	ctx, cancel := context.WithCancel(context.Background())
	n := len(c.Members.IDs)
	t := &Topic{
		c: c, known: newKnown(c.Members, c.Process), ctx: ctx, cancel: cancel,
		period: newsPeriod(n, c.Slowest), stopped: make(chan error, 1),
		fresh: make(chan struct{}, 1), unheard: make(map[peer.ID]int),
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
	news, control := base+"/telemetry/2", base+"/control/1"
	inRun := func(id peer.ID, _ string) bool {
		_, member := t.c.Members.Rank(id)
		return member
	}
	ps, err := pubsub.NewGossipSub(t.ctx, t.c.Host,
		pubsub.WithMessageSignaturePolicy(pubsub.StrictSign),
		pubsub.WithMaxMessageSize(2*(maxMessage+maxNotice)),
		pubsub.WithSubscriptionFilter(pubsub.NewAllowlistSubscriptionFilter(news, control)),
		pubsub.WithPeerFilter(inRun),
		pubsub.WithAppSpecificRpcInspector(func(_ peer.ID, rpc *pubsub.RPC) error {
			t.received.Add(int64(proto.Size(&rpc.RPC)))
			return nil
		}))
	if err != nil {
		return err
	}
	if t.news, err = t.listen(ps, news, maxMessage+maxNotice, t.readNews); err != nil {
		return err
	}
	if t.control, err = t.listen(ps, control, maxMessage, t.readStop); err != nil {
		return err
	}
	t.reminder, err = t.c.Host.EventBus().Emitter(new(event.EvtPeerProtocolsUpdated))
	return err
}

// A reader returns the action for a message of a worker, nil for an invalid message.
type reader func(from topology.Rank, text []byte) func()

// listen joins a topic, whose messages have at most limit bytes, and reads it until t is closed.
func (t *Topic) listen(ps *pubsub.PubSub, name string, limit int, read reader) (*pubsub.Topic, error) {
	judge := func(_ context.Context, _ peer.ID, m *pubsub.Message) pubsub.ValidationResult {
		from, member := t.c.Members.Rank(m.GetFrom())
		if !member || len(m.Data) > limit {
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
	news, ok := parse(from, t.c.Limits, text)
	if !ok {
		return nil
	}
	var heed func() // nil for a notice that no worker can give; the news count all the same
	if t.c.Notice != nil && news.Notice != nil {
		heed = t.c.Notice(from, news.Notice)
	}
	return func() {
		for _, e := range t.known.note(from, news) {
			t.c.Observe(e)
		}
		if heed != nil {
			heed()
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

// maxNotice bounds a notice: two calls of a script, with 64 KiB each in base64.
const maxNotice = 256 << 10

// Notify replaces the notice of this worker, a JSON text that all others get with its next message, at once.
func (t *Topic) Notify(text []byte) {
	t.known.notify(text)
	select {
	case t.fresh <- struct{}{}:
	default:
	}
}

// Post adds an event of this worker to its next message.
func (t *Topic) Post(e record.Event) { t.known.post(e) }

// Ended reports whether a worker has said that it has done its rounds.
func (t *Topic) Ended(rank topology.Rank) bool { return t.known.ended(rank) }

// Silent reports whether nothing has come from a worker for longer than a living one is silent.
func (t *Topic) Silent(rank topology.Rank) bool { return t.known.silent(rank, silence(t.period)) }

// Finals returns the results known so far, in rank order.
func (t *Topic) Finals() []record.Final { return t.known.finals() }

// Others counts the other workers from which a message has come.
func (t *Topic) Others() int { return t.known.others() }

// Accounts returns the newest accounts of the other workers, in no order.
func (t *Topic) Accounts() []record.Links { return t.known.accounts() }

// Received returns the received bytes of gossipsub.
func (t *Topic) Received() int64 { return t.received.Load() }

// Stopped delivers a *handshake.StoppedError when a worker has stopped the run.
func (t *Topic) Stopped() <-chan error { return t.stopped }

// Stop ends this worker's part in the run; the first reason counts.
func (t *Topic) Stop(why *handshake.StoppedError) {
	select {
	case t.stopped <- why:
	default:
	}
}

// StopOthers tells all other workers that the run has ended early, and why.
func (t *Topic) StopOthers(why *handshake.StoppedError) {
	if t.control == nil {
		return
	}
	if err := t.control.Publish(t.ctx, handshake.EncodeStop(why)); err != nil {
		t.c.Log.Warn("could not stop the others", "err", err)
	}
}

// Flush waits until gossipsub has had time to send a message published at told.
func (t *Topic) Flush(told time.Time) {
	if t.control != nil {
		socket.Sleep(t.ctx, flushTime-time.Since(told))
	}
}

// soon is the time from a message with a new notice to its first repetition. Each further one takes twice as long.
const soon = 100 * time.Millisecond

// publish repeats the message of this worker until t is closed.
func (t *Topic) publish() {
	defer t.reminder.Close()
	pause, reminded := t.period, time.Now()
	for {
		late := time.NewTimer(pause)
		select {
		case <-t.fresh:
			pause = soon
		case <-late.C:
			pause = min(2*pause, t.period)
		case <-t.ctx.Done():
			late.Stop()
			return
		}
		late.Stop()
		if time.Since(reminded) >= t.period {
			t.remind()
			reminded = time.Now()
		}
		t.announce()
	}
}

// remind makes gossipsub look again at the connected members. It tries each once, and fails at those that have not
// joined the topic yet. If their news that they have joined comes while it tries, it forgets them for good.
func (t *Topic) remind() {
	for _, id := range t.c.Host.Network().Peers() {
		if _, member := t.c.Members.Rank(id); member {
			t.renew(id)
			_ = t.reminder.Emit(event.EvtPeerProtocolsUpdated{Peer: id, Added: []protocol.ID{pubsub.GossipSubID_v11}})
		}
	}
}

// mostUnheard is how many reminders a connected member has to come to the topic before its streams are renewed.
const mostUnheard = 3

// renew resets the streams of gossipsub with a connected member that the topic does not have for a while. Gossipsub
// forgets the topics of a peer when one of their two streams ends with its connection, and tells its own ones only on a
// new stream. If both end at once, both ends tell theirs again.
func (t *Topic) renew(id peer.ID) {
	t.unheard[id]++
	if slices.Contains(t.news.ListPeers(), id) {
		t.unheard[id] = 0
	}
	if t.unheard[id] < mostUnheard {
		return
	}
	t.unheard[id] = 0
	for _, c := range t.c.Host.Network().ConnsToPeer(id) {
		for _, s := range c.GetStreams() {
			if slices.Contains(pubsub.GossipSubDefaultProtocols, s.Protocol()) {
				s.Reset()
			}
		}
	}
}

// announce publishes the current message.
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

// Collect publishes the posted events and waits until all workers have all results, or until those
// that lack some have been silent for 5 seconds, on slow links longer. The first worker to see that
// all have all results leaves and says so. The others trust it and leave as well. Collect fails if
// another worker stops the run, or ctx ends.
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
