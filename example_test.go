package gossiptrainer_test

import (
	"context"
	"fmt"
	"time"

	"gossiptrainer"
	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// A number is ½(x − n)², whose mean over all workers is least at the mean of their numbers.
type number float32

func (n number) Dim() int { return 1 }

func (n number) Gradient(g []float32, k int, x []float32) (loss float32, err error) {
	g[0] = x[0] - float32(n)
	return g[0] * g[0] / 2, nil
}

func ExampleTrainAll() {
	results, err := gossiptrainer.TrainAll(context.Background(), gossiptrainer.Training{
		Workers: 3, Rounds: 300,
		StepSize: func(k int) float32 { return 2 / float32(4+k) },
	}, number(1), number(2), number(6))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		fmt.Printf("worker %d: %.1f\n", r.Rank, r.X[0])
	}
	// Output:
	// worker 0: 3.0
	// worker 1: 3.0
	// worker 2: 3.0
}

// D-PSGD with the Moniqua codec at 8 bits per parameter, on a complete graph.
func ExampleTraining() {
	t := gossiptrainer.Training{
		Workers: 4, Rounds: 400,
		StepSize: func(k int) float32 { return 2 / float32(4+k) },
		Graph:    topology.Spec{Kind: topology.Complete, N: 4},
		Algorithm: func(w gossiptrainer.Worker) (gossip.Algorithm, error) {
			theta, err := moniqua.Fixed(10) // neighbours' models differ by less, in every parameter
			if err != nil {
				return nil, err
			}
			codec, err := moniqua.New(256, moniqua.Dither, theta, 1, w.Rank)
			return &algos.DPSGD{X: w.X, Alpha: w.StepSize, Codec: codec}, err
		},
	}
	results, err := gossiptrainer.TrainAll(context.Background(), t, number(1), number(2), number(6), number(7))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f\n", results[0].X[0])
	// Output: 4
}

// Two workers of a run meet over the network. In a program each would be in a process of its
// own, on a machine of its own, and find the other by multicast DNS.
func ExampleTrain() {
	t := gossiptrainer.Training{
		Run: "numbers", Workers: 2, Rounds: 300,
		StepSize: func(k int) float32 { return 2 / float32(4+k) },
		Network:  gossiptrainer.Network{Secret: "2cf24dba5fb0a30e26e83b2ac5b9e29e", Listen: []string{"/ip4/127.0.0.1/tcp/0"}},
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	first, address := t, make(chan []string, 1)
	first.Network.Listening = func(addrs []string) { address <- addrs }
	done := make(chan error)
	go func() {
		_, err := gossiptrainer.Train(ctx, first, number(1))
		done <- err
	}()

	t.Network.Peers = <-address
	r, err := gossiptrainer.Train(ctx, t, number(6))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f, first worker: %v\n", r.X[0], <-done)
	// Output: 3.5, first worker: <nil>
}
