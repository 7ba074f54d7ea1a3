package node

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"

	"gossiptrainer/topology"
)

// Workers that are severed and may meet again later end as if nothing had happened; so do workers
// whose uplink is throttled for a while.
func TestSeveredWorkersMeetAgain(t *testing.T) {
	job := task{n: 3, dim: 5_000, rounds: 40}
	c := newCluster(t, job.n, job.dim, func(_ int, o *Options) { o.Throttled = true })
	first, second := c.nodes[0], c.nodes[1]
	var once, parted atomic.Bool
	finals, errs := c.runAs(t, t.Context(), job, func(w *Worker) {
		if w.Rank != 0 {
			return
		}
		gradient := w.Gradient
		w.Gradient = func(g []float32, k int, x []float32) (float32, error) {
			if k == 10 && once.CompareAndSwap(false, true) {
				first.Throttle(1e7)
				first.Sever([]topology.Rank{1})
				eventually(t, "the end of the connection", func() bool {
					return first.host.Network().Connectedness(second.host.ID()) != network.Connected
				})
				_, err := second.host.Network().DialPeer(t.Context(), first.host.ID())
				parted.Store(err != nil || first.host.Network().Connectedness(second.host.ID()) != network.Connected)
				first.Sever(nil)
				first.Throttle(0)
			}
			return gradient(g, k, x)
		}
	})
	for i, want := range job.lockStep(t) {
		if errs[i] != nil || finals[i].Digest != want {
			t.Errorf("worker %d: digest %.8s, error %v, want %.8s", i, finals[i].Digest, errs[i], want)
		}
	}
	if !parted.Load() || !strings.Contains(c.logs.String(), "link down") {
		t.Error("nobody was severed: the test has tested nothing")
	}
}
