package views

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/membership"
	"gossiptrainer/internal/record"
	"gossiptrainer/node"
	"gossiptrainer/node/members"
)

// The simulator counts the bytes of messages that members on sockets send, member by member, coded or not.
func TestMembersCountTheBytesOfSockets(t *testing.T) {
	for name, set := range map[string][]string{
		"full":    nil,
		"huff0":   {"wire.entropy=huff0", "model.dim=5000"},
		"bits":    {"algorithm.codec=moniqua", "algorithm.theta.rule=fixed", "algorithm.theta.value=16"},
		"pieces":  {"algorithm.name=allreduce"},
		"matched": {"topology.kind=random-matching", "wire.entropy=zstd", "model.dim=5000"},
	} {
		t.Run(name, func(t *testing.T) {
			run := assemble(t, append([]string{"train.rounds=20", "topology.size=4"}, set...)...)
			// without a loss each message leaves once, as no member waits so long that it asks again
			o, _ := simulate(t, run, Happening{Compute: time.Millisecond})
			_, want, err := o.Finals()
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range onSockets(t, run) {
				if got.Log.Len() != o.Log.Len() || got.Rounds != want[i].Rounds || got.Digest() != o.Digest() {
					t.Fatalf("member %d: another run: %d views, %d rounds", i, got.Log.Len(), got.Rounds)
				}
				w := want[i]
				if b := got.Sent; b.Payload != w.Sent.Payload || b.Stream != w.Sent.Stream || got.Messages != w.Messages {
					t.Errorf("member %d: %d bytes of payload, %d on the stream, %+v; the simulator has %d, %d, %+v", i, b.Payload,
						b.Stream, got.Messages, w.Sent.Payload, w.Sent.Stream, w.Messages)
				}
			}
		})
	}
}

// onSockets runs the founders of a run on hosts of this process.
func onSockets(t *testing.T, run *experiment.Run) []members.Outcome {
	t.Helper()
	nodes, founders := make([]*node.Node, run.N()), founders(run).Members
	for i := range nodes {
		n, err := node.New(node.Options{RunID: "bytes", N: run.N(), Dim: run.Dim(),
			JoinSecret: "9c1f0a7be2d84f6399d05b7c1e2a4f80", Listen: []string{"/ip4/127.0.0.1/tcp/0"}})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		nodes[i], founders[i].Key, founders[i].Address = n, n.ID(), n.Addrs()[0]
	}
	all, errs := make([]members.Outcome, run.N()), make([]error, run.N())
	var wg sync.WaitGroup
	for i, n := range nodes {
		seat, err := found(run, n, founders, view.ID(i))
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { all[i], errs[i] = seat.Run(context.Background(), nil) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// found returns the seat of a founder that asks for no message again.
func found(run *experiment.Run, n *node.Node, founders []view.Member, self view.ID) (*members.Seat, error) {
	m, err := membership.NewMaker(run)
	if err != nil {
		return nil, err
	}
	o := members.Options{Peer: node.ProcessOf(n), Watch: unwatched{}, MostState: 1 << 20,
		Coding: m.Coding(func() view.ID { return self }), Member: member.Options{Payload: 1 << 20,
			Maker: m, Plan: m.Plan(), Fewest: 1,
			Council: council.Options{Seed: run.Config().Seed, Base: m.Base(), Margin: 1, Most: run.N(),
				Certain: m.Certain(), Beat: beat, Patience: time.Hour, Grace: 2 * time.Hour}}}
	o.Hello.Lineage = 7
	o.Test = func(view.ID) members.Score { return members.Score{Loss: math.NaN(), Accuracy: math.NaN()} }
	return members.Found(o, founders, self)
}

// unwatched sees nothing.
type unwatched struct{}

func (unwatched) View(view.Record)                  {}
func (unwatched) Round(int, float32, time.Duration) {}
func (unwatched) Status(record.State, string)       {}
