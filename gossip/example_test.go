package gossip_test

import (
	"bytes"
	"fmt"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// A whole driver: four workers on a ring in one process. Worker i minimises ½(x − i)².
func ExampleNew() {
	graph, _ := topology.New(topology.Spec{Kind: topology.Ring, N: 4, Slack: 1})
	step := func(k int) float32 { return 2 / float32(4+k) }
	var machines []gossip.Machine
	for i, row := range graph.Rows(0) {
		rule := &algos.DPSGD{X: make([]float32, 1), Alpha: step, Codec: algos.Full{}}
		m, err := gossip.New(topology.Rank(i), row, rule, 300)
		if err != nil {
			fmt.Println(err)
			return
		}
		machines = append(machines, m)
	}
	for running := true; running; {
		running = false
		for i, m := range machines {
			r := m.Ready()
			running = running || !r.Done
			for _, f := range r.Send {
				f.Payload = bytes.Clone(f.Payload) // the receiver owns it
				machines[f.To].Receive(f)
			}
			if r.Compute {
				g := []float32{r.At[0] - float32(i)}
				m.Gradient(g, g[0]*g[0]/2, 0)
			}
		}
	}
	for i, m := range machines {
		fmt.Printf("worker %d: %.1f\n", i, m.Params()[0])
	}
	// Output:
	// worker 0: 1.5
	// worker 1: 1.5
	// worker 2: 1.5
	// worker 3: 1.5
}
