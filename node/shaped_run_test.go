package node

import (
	"testing"
	"time"

	"gossiptrainer/internal/shape"
)

func TestShapedRunChangesNoResult(t *testing.T) {
	job := task{n: 4, dim: 5000, rounds: 8}
	c := newCluster(t, job.n, job.dim, func(_ int, o *Options) {
		o.Network = shape.Network{Uplink: shape.Link{
			Rate: 5e7, Latency: 2 * time.Millisecond, Jitter: time.Millisecond, Loss: 0.01,
		}}
	})
	finals, errs := c.run(t, t.Context(), job)
	for i, want := range job.lockStep(t) {
		if errs[i] != nil || finals[i].Digest != want {
			t.Errorf("worker %d: digest %.8s, error %v, want %.8s", i, finals[i].Digest, errs[i], want)
		}
	}
}

func TestShapingNeedsTCP(t *testing.T) {
	limited := shape.Network{Uplink: shape.Link{Rate: 1}}
	_, err := New(Options{RunID: "r", N: 2, Dim: 1, Transport: QUIC, Network: limited})
	if err == nil {
		t.Fatal("limits over QUIC are accepted")
	}
}
