package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/lab"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/work"
	"gossiptrainer/moniqua"
	"gossiptrainer/node"
	"gossiptrainer/topology"
)

// newBenchLinkPeer is one process of "bench link", which starts it.
func newBenchLinkPeer(c *console) *cobra.Command {
	return &cobra.Command{
		Use:    "peer RANK SIZE BITS ROUNDS VERIFY",
		Hidden: true,
		Args:   arguments(5, 5),
		RunE: func(cmd *cobra.Command, args []string) error {
			var numbers [4]int
			for i := range numbers {
				var err error
				if numbers[i], err = strconv.Atoi(args[i]); err != nil {
					return advice.Usagef("bench link peer: %q: want a number", args[i])
				}
			}
			rank := numbers[0]
			task := linkTask{dim: numbers[1], bits: numbers[2], rounds: numbers[3], verify: args[4] == "true"}
			return supervised(cmd.Context(), c, rank, func(ctx context.Context, leash *lab.Leash) error {
				return linkLife(ctx, c, leash, topology.Rank(rank), task)
			})
		},
	}
}

// linkLife is the life of one process: it tells its measure on standard error.
func linkLife(ctx context.Context, c *console, leash *lab.Leash, rank topology.Rank, task linkTask) error {
	w, found, err := task.worker(rank)
	if err != nil {
		return err
	}
	n, err := meet(ctx, leash, node.Options{RunID: "bench", N: linkPeers, Dim: task.dim, Logger: c.logger(c.err)})
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
	fmt.Fprintf(c.err, "%s\n", text)
	return leash.Done()
}

// warmRounds are not measured: connections, buffers and windows are made in them.
const warmRounds = 3

// worker builds a worker of D-PSGD whose gradient is zero, and the measure that
// its rounds fill in.
func (t linkTask) worker(rank topology.Rank) (node.Worker, *linkMeasure, error) {
	graph, err := topology.New(topology.Spec{Kind: topology.Ring, N: linkPeers, Slack: 1})
	if err != nil {
		return node.Worker{}, nil, err
	}
	const theta = 0.25
	x := make([]float32, t.dim)
	centre, own := rng.At(1, 0), rng.At(2, int(rank))
	for c := range x {
		x[c] = centre.Uniform(uint32(c)) + theta/2*own.Uniform(uint32(c))
	}
	codec, most := algos.Codec(algos.Full{}), 4*t.dim
	if t.bits < 32 {
		quantized := &moniqua.Codec{Levels: 1 << t.bits, Theta: func(int) float64 { return theta }, Seed: 1, Rank: rank, Verify: t.verify}
		codec, most = quantized, quantized.MaxPayload(t.dim)
	}
	row := graph.Row(rank)
	machine, err := gossip.New(rank, row, &algos.DPSGD{X: x, Alpha: func(int) float32 { return 0 }, Codec: codec}, t.rounds+warmRounds)
	if err != nil {
		return node.Worker{}, nil, err
	}
	var found linkMeasure
	var began time.Time
	var before, after runtime.MemStats
	return node.Worker{Task: work.Task{
		Rank: rank, Row: row, Machine: machine, Rounds: t.rounds + warmRounds, MaxPayload: most,
		Gradient: func(_ []float32, k int, _ []float32) (float32, error) {
			switch k {
			case warmRounds - 1:
				runtime.ReadMemStats(&before)
				began = time.Now()
			case warmRounds + t.rounds - 1:
				found.Round = time.Since(began) / time.Duration(t.rounds)
				runtime.ReadMemStats(&after)
				found.Allocs = float64(after.Mallocs-before.Mallocs) / float64(t.rounds)
			}
			return 0, nil
		},
	}}, &found, nil
}

// plainRound returns the time of a round in which peers on a ring send each
// neighbour so many bytes over plain sockets and read as many.
func plainRound(peers, bytes, rounds int) (time.Duration, error) {
	ends := make([][]net.Conn, peers)
	for i := range peers {
		a, b, err := socketPair()
		if err != nil {
			return 0, err
		}
		defer a.Close()
		defer b.Close()
		ends[i], ends[(i+1)%peers] = append(ends[i], a), append(ends[(i+1)%peers], b)
	}
	errs := make(chan error, peers)
	var all sync.WaitGroup
	began := time.Now()
	for _, own := range ends {
		all.Go(func() { errs <- plainPeer(own, bytes, rounds) })
	}
	all.Wait()
	took := time.Since(began) / time.Duration(rounds)
	for range peers {
		if err := <-errs; err != nil {
			return 0, err
		}
	}
	return took, nil
}

// socketPair returns both ends of a connection over loopback.
func socketPair() (a, b net.Conn, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		return nil, nil, err
	}
	if b, err = l.Accept(); err != nil {
		a.Close()
	}
	return a, b, err
}

// plainPeer goes through the rounds of one peer.
func plainPeer(links []net.Conn, bytes, rounds int) error {
	out := make([]byte, bytes)
	in := make([][]byte, len(links))
	for i := range in {
		in[i] = make([]byte, bytes)
	}
	errs := make(chan error, 2*len(links))
	for range rounds {
		for i, link := range links {
			go func() { _, err := link.Write(out); errs <- err }()
			go func() { _, err := io.ReadFull(link, in[i]); errs <- err }()
		}
		for range 2 * len(links) {
			if err := <-errs; err != nil {
				return err
			}
		}
	}
	return nil
}
