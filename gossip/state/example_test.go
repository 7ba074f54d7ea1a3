package state_test

import (
	"fmt"

	"gossiptrainer/gossip/state"
)

// A momentum is an optimizer that carries a vector and a count from round to round.
type momentum struct {
	v     []float32
	steps int
}

func (m *momentum) State(v *state.Visit) {
	v.Floats("v", m.v)
	state.Int(v, "steps", &m.steps, 0, 1<<30)
}

func Example() {
	old := &momentum{v: []float32{1, 2}, steps: 7}
	var s state.Snapshot
	s.Save("momentum", old)

	again := &momentum{v: make([]float32, 2)}
	if err := s.Load("momentum", again); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(again.v, again.steps)
	fmt.Println(s.Load("momentum", &momentum{v: make([]float32, 3)}))
	// Output:
	// [1 2] 7
	// state: momentum/v: 2 floats, want 3
}
