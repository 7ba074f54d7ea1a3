package judge_test

import (
	"fmt"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/judge"
	"gossiptrainer/topology"
)

// Worker 1 sends messages of an exchange that the run does not have. The third one is the last.
func Example() {
	graph, _ := topology.New(topology.Spec{Kind: topology.Path, N: 2, Slack: 1})
	rule := &algos.DPSGD{X: make([]float32, 1), Alpha: func(int) float32 { return 0.1 }, Codec: algos.Full{}}
	machine, err := gossip.New(0, graph.Row(0, 0), rule, 200)
	if err != nil {
		fmt.Println(err)
		return
	}
	j := judge.New(gossip.NewLinked(machine, 0, 0, gossip.Undurable), judge.Rules{
		Self: 0, Tolerance: 3, Name: func(error) string { return "no such exchange" },
	})
	j.Met(1, gossip.Meeting{Durable: gossip.Undurable})
	for range 3 {
		j.Receive(gossip.Frame{From: 1, To: 0, Hop: 5, Payload: make([]byte, 4)})
		for _, c := range j.Ready().Control {
			if c.Kind == gossip.BanPeer {
				fmt.Println("worker", c.Peer, "is banned")
			}
		}
	}
	// Output:
	// worker 1 is banned
}
