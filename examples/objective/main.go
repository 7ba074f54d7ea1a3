// Command objective trains an objective of its own with gossiptrainer: it fits a
// line to points; each of two workers has half of them.
//
//	objective                          both workers in this process
//	objective -part 0                  one of two processes; it prints its address
//	objective -part 1 -peer ADDRESS    the other one
//
// With -secret SECRET, the same for both, the processes may be on two machines of one network. They then find each
// other by multicast DNS, without -peer. "openssl rand -hex 32" makes a secret.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"gossiptrainer"
)

// A line is the mean of ½·(a·x + b − y)² over points (x, y). Its parameters are a and b.
type line struct{ x, y []float32 }

func (l line) Dim() int { return 2 }

func (l line) Gradient(g []float32, k int, w []float32) (loss float32, err error) {
	g[0], g[1] = 0, 0
	share := 1 / float32(len(l.x))
	for i, x := range l.x {
		miss := w[0]*x + w[1] - l.y[i]
		g[0] += share * miss * x
		g[1] += share * miss
		loss += share * miss * miss / 2
	}
	return loss, nil
}

// halves are the points that the two workers have, close to y = 2x + 1.
var halves = []line{
	{x: []float32{-2, -1, 0}, y: []float32{-3.1, -0.9, 1.1}},
	{x: []float32{1, 2, 3}, y: []float32{2.9, 5.1, 6.9}},
}

var training = gossiptrainer.Training{
	Run: "line", Workers: 2, Rounds: 400,
	StepSize: func(k int) float32 { return 2 / float32(10+k) },
}

func main() {
	part := flag.Int("part", -1, "train with half 0 or 1 of the points; the other half is in another process")
	peer := flag.String("peer", "", "address that the other process has printed")
	flag.StringVar(&training.Network.Secret, "secret", "", "keeps strangers out; without it, nothing leaves this machine")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	results, err := train(ctx, *part, *peer)
	if err != nil {
		fmt.Fprintln(os.Stderr, "objective:", err)
		os.Exit(1)
	}
	for _, r := range results {
		fmt.Printf("worker %d: y = %.2f x + %.2f\n", r.Rank, r.X[0], r.X[1])
	}
}

func train(ctx context.Context, part int, peer string) ([]gossiptrainer.Result, error) {
	switch {
	case part < 0:
		return gossiptrainer.TrainAll(ctx, training, halves[0], halves[1])
	case part >= len(halves):
		return nil, fmt.Errorf("part %d: want 0 or 1", part)
	}
	t := training
	if peer != "" {
		t.Network.Peers = []string{peer}
	}
	t.Network.Listening = func(addrs []string) { fmt.Println(addrs[0]) }
	result, err := gossiptrainer.Train(ctx, t, halves[part])
	return []gossiptrainer.Result{result}, err
}
