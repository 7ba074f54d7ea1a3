package peer_test

import (
	"bytes"
	"fmt"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/judge"
	"gossiptrainer/gossip/peer"
	"gossiptrainer/topology"
)

// A driver of two workers in one process. Links are up from the start, and time does not pass.
func Example() {
	graph, _ := topology.New(topology.Spec{Kind: topology.Path, N: 2, Slack: 1})
	var workers []*peer.Peer
	for i, row := range graph.Rows(0) {
		rank := topology.Rank(i)
		rule := &algos.DPSGD{
			X: []float32{float32(i)}, Alpha: func(int) float32 { return 0.1 }, Codec: algos.Full{},
		}
		machine, err := gossip.New(rank, row, rule, 2)
		if err != nil {
			fmt.Println(err)
			return
		}
		p, err := peer.New(machine, peer.Start{
			Self: rank, Rows: row, Durable: gossip.Undurable, Judge: judge.Rules{Self: rank, Name: error.Error},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		p.Met(1-rank, gossip.Meeting{Durable: gossip.Undurable})
		workers = append(workers, p)
	}
	for !workers[0].Done() || !workers[1].Done() {
		for _, p := range workers {
			for more := true; more; {
				r := p.Ready()
				for _, f := range r.Send {
					f.Payload = bytes.Clone(f.Payload) // the receiver owns it
					workers[f.To].Receive(f)
				}
				if r.Compute {
					p.Gradient([]float32{1}, 0.5, time.Second)
				}
				more = r.More
			}
		}
	}
	for i, p := range workers {
		p.Settle() // the state after the last round is safe: neighbours are told bye
		fmt.Printf("worker %d: x = %.1f, says bye: %v\n", i, p.Params()[0], p.Ready().Send[0].Kind == gossip.Bye)
	}
	// Output:
	// worker 0: x = 0.3, says bye: true
	// worker 1: x = 0.3, says bye: true
}
