package conformance

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// A mailbox has the last messages that a worker received, with copies that only the test has. Messages are read-only:
// a driver may send the same memory to several workers, or send it again.
type mailbox []letter

// A letter is a message and its copy.
type letter struct {
	gossip.Frame
	copied []byte
}

// mailboxSize is more than the messages that a worker of a vector has not mixed yet.
const mailboxSize = 64

// keep returns the frame with memory of its own, and keeps a copy.
func (m *mailbox) keep(f gossip.Frame) gossip.Frame {
	copied := f.Payload
	f.Payload = slices.Clone(f.Payload)
	*m = append(*m, letter{f, slices.Clone(copied)})
	*m = (*m)[max(0, len(*m)-mailboxSize):]
	return f
}

// check returns an error if a message has changed.
func (m *mailbox) check() error {
	for _, l := range *m {
		if !bytes.Equal(l.Payload, l.copied) {
			return fmt.Errorf("worker %d changed the message of worker %d of round %d: messages are read-only, see "+
				"gossip.Algorithm", l.To, l.From, l.Round)
		}
	}
	return nil
}

// A scribbler writes into the messages that it mixes.
type scribbler struct{ algos.DPSGD }

func (s *scribbler) Mix(k, hop int, in []algos.Message) (algos.Mixed, error) {
	mixed, err := s.DPSGD.Mix(k, hop, in)
	s.scribble(k, in)
	return mixed, err
}

func (s *scribbler) MixPiece(k, piece int, in []algos.Message) (algos.Mixed, error) {
	mixed, err := s.DPSGD.MixPiece(k, piece, in)
	s.scribble(k, in)
	return mixed, err
}

func (s *scribbler) scribble(k int, in []algos.Message) {
	if k == 3 {
		in[len(in)-1].Payload[0]++
	}
}

// All runs of the vectors go through advance, and every row has one. So a rule that writes into a message fails there.
func TestWritesIntoMessagesAreFound(t *testing.T) {
	g, err := topology.New(topology.Spec{Kind: topology.Ring, N: 3, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	var workers []*gossip.Worker
	for i, row := range g.Sequences() {
		rule := &scribbler{algos.DPSGD{
			X: []float32{float32(i), 1}, Alpha: func(int) float32 { return 0.1 }, Codec: algos.Full{},
		}}
		w, err := gossip.NewScheduled(topology.Rank(i), row, rule, gossip.Schedule{Rounds: 5, Every: 1})
		if err != nil {
			t.Fatal(err)
		}
		workers = append(workers, w)
	}
	err = advance(workers, advancing{
		sent:     func(int, gossip.Frame) {},
		gradient: func(_, _ int, x []float32) []float32 { return slices.Clone(x) },
	})
	want := "changed the message of worker 2 of round 3: messages are read-only"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}
