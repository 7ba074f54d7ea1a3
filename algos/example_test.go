package algos_test

import (
	"fmt"

	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// One round of D-PSGD with two workers that weigh each other by a half. Package gossip makes
// these calls in a run.
func ExampleDPSGD() {
	step := func(k int) float32 { return 0.1 }
	var workers []*algos.DPSGD
	for _, x := range []float32{0, 4} {
		workers = append(workers, &algos.DPSGD{X: []float32{x}, Alpha: step, Codec: algos.Full{}})
	}

	const round, hop = 0, 0
	var payloads [2][]byte
	for i, w := range workers {
		payloads[i], _ = w.Send(round, hop, nil) // the model at which the gradient is taken
	}
	for i, w := range workers {
		other := 1 - i
		message := algos.Message{From: topology.Rank(other), Weight: 0.5, Payload: payloads[other]}
		mixed, err := w.Mix(round, hop, []algos.Message{message})
		if err != nil {
			fmt.Println(err)
			return
		}
		w.Descend(round, []float32{float32(i)}) // gradients 0 and 1
		fmt.Printf("worker %d: x = %.1f, the models were %.0f apart\n", i, w.X[0], mixed.Gap)
	}
	// Output:
	// worker 0: x = 2.0, the models were 4 apart
	// worker 1: x = 1.9, the models were 4 apart
}
