package node

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

const (
	maxGossip = 16 << 10               // bytes of one message
	flushTime = 200 * time.Millisecond // for gossipsub to pass on what it was given last
)

// A board is what the peers of a run tell all others by gossipsub: how they
// are doing, their results, and that the run must stop. Messages may be lost;
// so they say how things are, never what has changed, and are repeated. No
// parameter travels this way.
type board struct {
	node     *Node
	roster   handshake.Members
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	period   time.Duration // between two bulletins of a peer, the last ones apart
	news     *pubsub.Topic // nil for a run of one
	control  *pubsub.Topic
	received atomic.Int64 // bytes
	stopped  chan error   // a worker has stopped the run

	mu      sync.Mutex
	mine    bulletin
	theirs  map[topology.Rank]bulletin
	heard   map[topology.Rank]time.Time
	gained  time.Time     // when the last result, or the last that has all, became known
	changed chan struct{} // closed and made anew when theirs changes
}

// newBoard joins the topics of the run. Messages from outside the roster and
// messages that make no sense are neither believed nor passed on.
func newBoard(n *Node) (*board, error) {
	ctx, cancel := context.WithCancel(context.Background())
	b := &board{
		node: n, roster: n.roster.Members, ctx: ctx, cancel: cancel, stopped: make(chan error, 1),
		mine: bulletin{Rank: int(n.roster.Self), Life: n.me.Epoch}, period: newsPeriod(len(n.roster.IDs), n.host.Slowest()),
		theirs: make(map[topology.Rank]bulletin), heard: make(map[topology.Rank]time.Time),
		changed: make(chan struct{}),
	}
	if len(n.roster.IDs) == 1 {
		return b, nil
	}
	if err := b.join(); err != nil {
		cancel()
		return nil, fmt.Errorf("node: gossipsub: %w", err)
	}
	b.wg.Go(b.publish)
	return b, nil
}

func (b *board) join() error {
	base := "/gossiptrainer/" + b.node.opts.RunID
	news, control := base+"/telemetry/1", base+"/control/1"
	inRun := func(id peer.ID, _ string) bool {
		_, known := b.roster.Rank(id)
		return known
	}
	ps, err := pubsub.NewGossipSub(b.ctx, b.node.gate.Guard(b.node.host),
		pubsub.WithMessageSignaturePolicy(pubsub.StrictSign),
		pubsub.WithMaxMessageSize(2*maxGossip),
		pubsub.WithSubscriptionFilter(pubsub.NewAllowlistSubscriptionFilter(news, control)),
		pubsub.WithPeerFilter(inRun),
		pubsub.WithAppSpecificRpcInspector(func(_ peer.ID, rpc *pubsub.RPC) error {
			b.received.Add(int64(proto.Size(&rpc.RPC)))
			return nil
		}))
	if err != nil {
		return err
	}
	if b.news, err = b.listen(ps, news, b.readNews); err != nil {
		return err
	}
	b.control, err = b.listen(ps, control, b.readStop)
	return err
}

// listen joins a topic and reads it until the board is closed. read returns
// nil for a message that is no good, otherwise what to do when it arrives.
func (b *board) listen(ps *pubsub.PubSub, name string, read func(from topology.Rank, text []byte) func()) (*pubsub.Topic, error) {
	judge := func(_ context.Context, _ peer.ID, m *pubsub.Message) pubsub.ValidationResult {
		from, known := b.roster.Rank(m.GetFrom())
		if !known || len(m.Data) > maxGossip {
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
	b.wg.Go(func() {
		for {
			m, err := sub.Next(b.ctx)
			if err != nil {
				return
			}
			if from, _ := b.roster.Rank(m.GetFrom()); from != b.roster.Self {
				m.ValidatorData.(func())()
			}
		}
	})
	return topic, nil
}

// close leaves the topics.
func (b *board) close() {
	b.cancel()
	b.wg.Wait()
}

// stopOthers tells all that the run has ended early, and why.
func (b *board) stopOthers(why *StoppedError) {
	if b.control == nil {
		return
	}
	if err := b.control.Publish(b.ctx, handshake.EncodeStop(why)); err != nil {
		b.node.log.Warn("could not stop the others", "err", err)
	}
}

// flush gives what was told the others at that time the rest of the time to leave.
func (b *board) flush(told time.Time) {
	if b.control != nil {
		socket.Sleep(b.ctx, flushTime-time.Since(told))
	}
}

func (b *board) readStop(from topology.Rank, text []byte) func() {
	why, err := handshake.ParseStop(text, len(b.roster.IDs))
	if err != nil || why.Rank != from {
		return nil
	}
	return func() { b.stop(why) }
}

// stop ends what this worker does for the run; the first reason counts.
func (b *board) stop(why *StoppedError) {
	select {
	case b.stopped <- why:
	default:
	}
}

// Finals returns the results known so far, in rank order; see Finish.
func (n *Node) Finals() []record.Final {
	n.mu.Lock()
	b := n.board
	n.mu.Unlock()
	if b == nil {
		return nil
	}
	return b.finals()
}
