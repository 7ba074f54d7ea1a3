// Package modulo chooses the bound θ of a run's modulo codec and makes the codecs of its workers.
package modulo

import (
	"gossiptrainer/configs"
	"gossiptrainer/internal/bits"
	"gossiptrainer/internal/registry"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// A Maker makes the codecs of a run whose models travel as symbols.
type Maker struct {
	Algorithm configs.Algorithm
	Method    registry.Algorithm
	Settings  registry.Settings
	Seed      uint64
	Graph     *topology.Graph
	Workers   int
	Reweights bool // workers go on without lost ones
	External  bool // a script takes the local steps
	Rounds    int
	Step      func(k int) float64 // α_k
	Bound     float64             // on the update directions of all workers, 0 = none
	Dim       int                 // parameters of the model
	Exact     int                 // trailing ones that travel in full precision

	Theta   []func(k int) float64 // that Choose chooses, by lane; nil under control
	control laneControl
}

// A laneControl makes the control of θ of a lane, in a view of a run whose members come and go; nil: there are none.
type laneControl func(of registry.Lane, lane int, in *Chapter) (*moniqua.Control, error)

// FullBits are the bits per parameter of full precision.
const FullBits = 32

// Uses says whether models travel as symbols of the modulo codec.
func Uses(method registry.Algorithm, a configs.Algorithm) bool {
	return method.ByMoniqua() && a.Codec == registry.Moniqua && a.Bits != FullBits
}

// rounding returns the rounding to the grid, whose name Choose has checked.
func (m *Maker) rounding() moniqua.Rounding {
	rounding, _ := moniqua.ParseRounding(m.Algorithm.Rounding)
	return rounding
}

// UnitGrid is the grid of theta = 1 with the fewest levels that a run may use.
func UnitGrid(a configs.Algorithm) (moniqua.Grid, error) {
	rounding, err := moniqua.ParseRounding(a.Rounding)
	grid := moniqua.Grid{Theta: 1, Levels: Levels(a), Rounding: rounding}
	if err == nil {
		err = grid.Check()
	}
	if err != nil {
		return grid, configs.Errorf("algorithm.rounding", "%v", err).With("algorithm.bits", "algorithm.levels")
	}
	return grid, nil
}

// Levels returns the N of the codec, the smallest where it changes: a bound for coarse values holds for fine ones.
func Levels(a configs.Algorithm) int {
	if bits.Controlled(a.Controller) {
		return 1 << a.Controller.MinBits
	}
	if a.Levels > 0 {
		return a.Levels
	}
	return 1 << a.Bits
}
