//go:build !race

// The race detector takes memory of its own.

package worker

import (
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/forecast"
	"gossiptrainer/node"
	"gossiptrainer/topology"
)

// owners names the function that allocates for an owner of memory. The first one in a stack counts.
var owners = []struct{ function, owner string }{
	{"internal/build.(*builder).begin", budget.Model},
	{"node.compute", budget.Gradient},
	{"internal/train.NewOptimizer", budget.Momentum},
	{"gossiptrainer/model.", budget.Activations},
	{"internal/journal.", budget.Journal},
	{"internal/data.", budget.Data},
	{"gossiptrainer/gossip/state.", budget.Checkpoint},
	{"moniqua.(*Codec).AppendRepair", budget.Repairs},
	{"moniqua.(*verification)", budget.Repairs},
	{"node/link.(*pool).Get", budget.Received}, // and of messages sent, which take their buffers there
	{"gossiptrainer/gossip.", budget.Received},
}

// held returns the live bytes of this process by owner, "" for those of no owner.
func held() map[string]int64 {
	runtime.GC() // a profile is as old as the last but one collection
	runtime.GC()
	records := make([]runtime.MemProfileRecord, 1<<14)
	n, _ := runtime.MemProfile(records, false)
	sum := map[string]int64{}
	for _, r := range records[:n] {
		sum[ownerOf(r.Stack())] += r.InUseBytes()
	}
	return sum
}

func ownerOf(stack []uintptr) string {
	names := []string{}
	for frames := runtime.CallersFrames(stack); ; {
		frame, more := frames.Next()
		names = append(names, frame.Function)
		if !more {
			break
		}
	}
	all := strings.Join(names, "\n")
	for _, o := range owners {
		if strings.Contains(all, o.function) {
			return o.owner
		}
	}
	return ""
}

// crowd starts a node for each worker of a run in this process.
func crowd(t *testing.T, n, dim int) []*node.Node {
	t.Helper()
	var nodes []*node.Node
	var peers []node.Peer
	for range n {
		p, err := node.New(node.Options{
			RunID: "memory", N: n, Dim: dim, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		nodes, peers = append(nodes, p), append(peers, node.Peer{ID: p.ID(), Addrs: p.Addrs()})
	}
	for _, p := range nodes {
		if err := p.SetRoster(peers); err != nil {
			t.Fatal(err)
		}
	}
	return nodes
}

// The plan of a peer is what its process takes. Vectors are within 5 % of it. Activations are planned for an evaluation
// on all cores. No owner takes a fifth more than its plan: the allocator rounds pieces of messages up. The state, of
// two vectors, is too large for a copy.
func TestThePlanIsWhatPeersTake(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: takes 300 MB")
	}
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 4 << 10
	before := held()
	loaded, err := configs.Load(configs.Source{File: "ring8", Set: []string{
		"topology.size=3", "model.hidden=[1024, 4096]", "train.momentum=0.9", "train.rounds=6", "train.batch=8",
		"checkpoint={every: 2, seconds: 0}"}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	var measured map[string]int64
	nodes := crowd(t, run.N(), run.Dim())
	var all sync.WaitGroup
	for rank, n := range nodes {
		s := storeOf(run, t.TempDir(), topology.Rank(rank))
		defer s.Close()
		w, kept, err := open(s, Fresh)
		if err != nil {
			t.Fatal(err)
		}
		if !kept.Direct {
			t.Fatal("a state of 40 MB is copied")
		}
		task := w.Task
		gradient := task.Gradient
		task.Gradient = func(g []float32, k int, x []float32) (float32, error) {
			if rank == 0 && k == int(run.Config().Train.Rounds)-1 {
				measured = held()
			}
			return gradient(g, k, x)
		}
		all.Go(func() {
			if _, err := n.Join(t.Context()); err != nil {
				t.Error(err)
				return
			}
			if _, err := n.Run(t.Context(), node.Worker{Task: *task, Checkpoints: kept}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	plan := forecast.Plan(run, 0)
	const mega = 1 << 20
	for _, o := range owners {
		got, want := measured[o.owner]-before[o.owner], 3*plan.Of(o.owner)
		if o.owner == budget.Received {
			want += 3 * plan.Of(budget.Sent)
		}
		exact := o.owner == budget.Model || o.owner == budget.Gradient || o.owner == budget.Momentum
		t.Logf("%-12s %6.1f MB, planned %6.1f MB", o.owner, float64(got)/1e6, float64(want)/1e6)
		if got > want+want/5+mega || exact && got > want+want/20+mega {
			t.Errorf("%s: %d bytes, planned are %d", o.owner, got, want)
		}
		if exact && got < want-want/20 {
			t.Errorf("%s: only %d bytes, planned are %d", o.owner, got, want)
		}
	}
	if rest, most := measured[""]-before[""], 3*(plan.Of(budget.Links)+plan.Of(budget.Runtime)); rest > most {
		t.Errorf("%d bytes without an owner, planned are %d", rest, most)
	}
}
