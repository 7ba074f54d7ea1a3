package moniqua_test

import (
	"fmt"

	"gossiptrainer/algos"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// Two models that differ by less than θ = 1 mix at 4 bits per parameter. The receiver finds the
// sender's model from its own one.
func ExampleNew() {
	theta, err := moniqua.Fixed(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	models := [][]float32{{100, -20, 3, 0.5}, {100.5, -20.5, 3, 0.25}}
	var codecs []*moniqua.Codec
	var payloads [][]byte
	for i, x := range models {
		c, err := moniqua.New(16, moniqua.Nearest, theta, 1, topology.Rank(i))
		if err != nil {
			fmt.Println(err)
			return
		}
		payload, err := c.Encode(nil, 0, x)
		if err != nil {
			fmt.Println(err)
			return
		}
		codecs, payloads = append(codecs, c), append(payloads, payload)
	}
	x := append([]float32(nil), models[0]...)
	in := []algos.Message{{From: 1, Weight: 0.5, Payload: payloads[1]}}
	mixed, err := codecs[0].Mix(x, 0, models[0], payloads[0], in)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d bytes for %d parameters\n", len(payloads[1]), len(x))
	fmt.Printf("%.2f, the models are %.2f apart\n", x, mixed.Gap)
	// Output:
	// 2 bytes for 4 parameters
	// [100.27 -20.27 3.00 0.37], the models are 0.53 apart
}

// Which θ the paper's rule gives on a ring of 8 workers.
func ExampleTheorem() {
	g, _ := topology.New(topology.Spec{Kind: topology.Ring, N: 8, Slack: 1})
	s, _ := g.Spectrum()
	rule := moniqua.Theorem{Workers: 8, Rho: s.Rho}
	fmt.Printf("theta %.2f\n", rule.Theta(0.1, 1))
	// Output:
	// theta 4.97
}
