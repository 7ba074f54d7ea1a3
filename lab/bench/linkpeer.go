package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/app/peer"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/fleet"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/work"
	"gossiptrainer/moniqua"
	"gossiptrainer/node"
	"gossiptrainer/topology"
)

// A LinkPeer is one process of a measurement.
type LinkPeer struct {
	Rank int
	Task LinkTask
	Log  *slog.Logger
	Out  io.Writer // gets the measure, in one line
}

// Run does the task with the other processes, which the supervisor knows, and tells the
// measure.
func (p LinkPeer) Run(ctx context.Context, client *fleet.Client) error {
	w, found, err := p.Task.worker(topology.Rank(p.Rank))
	if err != nil {
		return err
	}
	o := node.Options{RunID: "bench", N: linkPeers, Dim: p.Task.Dim, Logger: p.Log}
	o.Network.Uplink.Latency = p.Task.Latency
	if p.Task.Open {
		o.Security, o.Logger = node.None, nil // its warning is for runs
	}
	n, err := peer.Meet(ctx, client, o)
	if err != nil {
		return err
	}
	defer n.Close()
	if _, err := n.Run(ctx, w); err != nil {
		return err
	}
	text, err := json.Marshal(found)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Out, "%s\n", text)
	return client.Done()
}

// warmRounds are not measured: connections, buffers and windows are made in them.
const warmRounds = 3

// worker builds a worker of D-PSGD whose gradient is zero, and the measure that
// its rounds fill in.
func (t LinkTask) worker(rank topology.Rank) (node.Worker, *linkMeasure, error) {
	graph, err := topology.New(topology.Spec{Kind: topology.Ring, N: linkPeers, Slack: 1})
	if err != nil {
		return node.Worker{}, nil, err
	}
	const theta = 0.25
	x := make([]float32, t.Dim)
	centre, own := rng.At(1, 0), rng.At(2, int(rank))
	for c := range x {
		x[c] = centre.Uniform(uint32(c)) + theta/2*own.Uniform(uint32(c))
	}
	codec, most := algos.Codec(algos.Full{}), algos.Full{}.MaxPiece(t.Dim)
	if t.Bits < 32 {
		quantized := &moniqua.Codec{Levels: 1 << t.Bits, Theta: func(int) float64 { return theta }, Seed: 1,
			Rank: rank, Verify: t.Verify}
		codec, most = quantized, quantized.MaxPiece(t.Dim)
	}
	row := graph.Row(rank, 0)
	worker, err := gossip.New(rank, row, &algos.DPSGD{X: x, Alpha: func(int) float32 { return 0 }, Codec: codec},
		t.Rounds+warmRounds)
	if err != nil {
		return node.Worker{}, nil, err
	}
	var found linkMeasure
	var began time.Time
	var spent time.Duration
	var before, after runtime.MemStats
	return node.Worker{Task: work.Task{
		Rank: rank, Rows: row, Machine: worker, Rounds: t.Rounds + warmRounds, MaxPayload: most,
		Gradient: func(_ []float32, k int, _ []float32) (float32, error) {
			switch k {
			case warmRounds - 1:
				runtime.ReadMemStats(&before)
				began, spent = time.Now(), machine.ProcessorTime()
			case warmRounds + t.Rounds - 1:
				found.Round = time.Since(began) / time.Duration(t.Rounds)
				found.CPU = (machine.ProcessorTime() - spent) / time.Duration(t.Rounds)
				runtime.ReadMemStats(&after)
				found.Allocs = float64(after.Mallocs-before.Mallocs) / float64(t.Rounds)
			}
			return 0, nil
		},
	}}, &found, nil
}
