package topology_test

import (
	"fmt"
	"os"
	"strings"

	"gossiptrainer/topology"
)

func ExampleNew() {
	g, err := topology.New(topology.Spec{Kind: topology.Ring, N: 8, Slack: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	row := g.Row(0, 0)
	fmt.Printf("worker 0 keeps %.2f of its model\n", row.Self)
	for _, e := range row.In {
		fmt.Printf("and adds %.2f of that of worker %d\n", e.Weight, e.Peer)
	}
	s, err := g.Spectrum()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("spectral gap %.3f, diameter %d\n", s.Gap, g.Reach())
	// Output:
	// worker 0 keeps 0.33 of its model
	// and adds 0.33 of that of worker 1
	// and adds 0.33 of that of worker 7
	// spectral gap 0.195, diameter 4
}

// The short form of a graph, as the command line takes it.
func ExampleParseSpec() {
	for _, text := range []string{"torus:4x4", "exponential:16", "ring"} {
		s, err := topology.ParseSpec(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		s.Slack = 0.5
		g, _ := topology.New(s)
		fmt.Println(s, "has", len(g.Edges()), "edges")
	}
	// Output:
	// torus:4x4 has 32 edges
	// exponential:16 has 56 edges
	// topology: "ring": want the number of workers, as in ring:8
}

// A graph of your own, from a list of edges.
func ExampleReadEdges() {
	edges, err := topology.ReadEdges(strings.NewReader("0 1\n1 2\n2 0\n2 3\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := topology.New(topology.Spec{Kind: topology.EdgeList, Edges: edges, Slack: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	g.Draw(os.Stdout)
	// Output:
	//     0  1  2  3
	//  0  ╲  ●  ●  ·
	//  1  ●  ╲  ●  ·
	//  2  ●  ●  ╲  ●
	//  3  ·  ·  ●  ╲
}
