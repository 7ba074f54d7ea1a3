package replay_test

import (
	"errors"
	"fmt"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/topology"
)

// Worker 1 dies after two rounds and begins again. Worker 0 sends it the messages again.
func Example() {
	graph, _ := topology.New(topology.Spec{Kind: topology.Path, N: 2, Slack: 1})
	row := graph.Row(0, 0)
	rule := &algos.DPSGD{X: []float32{1}, Alpha: func(int) float32 { return 0.5 }, Codec: algos.Full{}}
	machine, err := gossip.New(0, row, rule, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	slots := gossip.SlotsOf(machine)
	layer := replay.New(gossip.NewLinked(machine, 0, 0, 0), replay.Start{
		Self: 0, Rows: row, Slots: slots, Log: replay.NewMemory(slots, 0),
	})
	show := func(when string) {
		for more := true; more; {
			r := layer.Ready()
			for _, f := range r.Send {
				if f.Kind == gossip.Data {
					fmt.Println(when, f.Round)
				}
			}
			more = r.More
		}
	}
	layer.Met(1, gossip.Meeting{Process: 1})
	for k := range 2 {
		show("round")
		layer.Receive(gossip.Frame{From: 1, To: 0, Round: k, Payload: make([]byte, 4)})
		layer.Gradient([]float32{1}, 0.5, 0)
	}
	show("round")
	layer.Parted(1, errors.New("its process has died"))
	layer.Met(1, gossip.Meeting{Process: 2, Renewed: true, Ours: 2})
	for k := range 3 {
		layer.Receive(gossip.Frame{From: 1, To: 0, Kind: gossip.Place, Round: k})
		show("again")
	}
	// Output:
	// round 0
	// round 1
	// again 0
	// again 1
	// again 2
}
