package elastic_test

import (
	"errors"
	"fmt"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	"gossiptrainer/topology"
)

// Worker 0 of two waits for the message of worker 1. When the link has been down for a while, it
// goes on alone, and keeps the weight of the edge for itself.
func Example() {
	graph, _ := topology.New(topology.Spec{Kind: topology.Path, N: 2, Slack: 1})
	rule := &algos.DPSGD{X: []float32{1}, Alpha: func(int) float32 { return 0.5 }, Codec: algos.Full{}}
	machine, err := gossip.New(0, graph.Row(0, 0), rule, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := elastic.New(gossip.NewLinked(machine, 0, 0, gossip.Undurable), machine, elastic.Start{
		Self: 0, Row: graph.Row(0, 0), Rounds: 10,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	e.Met(1, gossip.Meeting{Durable: gossip.Undurable})
	e.Ready()
	e.Gradient([]float32{1}, 0.5, 0)
	e.Parted(1, errors.New("the cable was cut"))
	for now := time.Duration(0); now <= time.Second; now += 500 * time.Millisecond {
		e.Tick(now)
		r := e.Ready()
		fmt.Printf("%v: round %d, waits for %v\n", now, r.Round, r.Waiting)
		for _, n := range r.Notes {
			if n.Kind == gossip.EdgeIsSet {
				fmt.Printf("the edge to worker %d has weight %v\n", n.Peer, n.Weight)
			}
		}
	}
	// Output:
	// 0s: round 0, waits for [1]
	// 500ms: round 0, waits for [1]
	// 1s: round 0, waits for [1]
	// the edge to worker 1 has weight 0
}
