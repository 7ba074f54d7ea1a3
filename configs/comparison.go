package configs

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Comparison says which runs are to be set against each other: all
// combinations of its networks, algorithms and seeds, each a cell.
type Comparison struct {
	Name       string
	Base       string // preset or path of the run file from which every cell starts
	Mode       string // lab or sim
	Compute    time.Duration
	Networks   []NetworkCase
	Algorithms []Variant
	Seeds      []uint64
	Budget     Budget
	Tuning     Tuning
	Targets    Targets
}

// A NetworkCase is a limit of all peers, and what else belongs to it.
type NetworkCase struct {
	Name string
	Set  []Override // limit.*, and train.rounds where it has its own
}

// A Variant is an algorithm with its settings, under a label.
type Variant struct {
	Label string
	Set   []Override
	Tune  []Choice
}

// A Budget says when cells end: after their rounds, or before.
type Budget struct {
	Rounds int           // 0 = as the base says
	Time   time.Duration // virtual in sim, on the clock in lab; 0 = any
	Target bool          // when the target of the report is reached
}

// Tuning is the short run on which choices are made: of a seed that no cell has, so
// that no algorithm is tuned to the runs that are reported.
type Tuning struct {
	Rounds int // 0 = a quarter of the run's
	Seed   uint64
}

// Targets are what a report takes the time to; 0 = none.
type Targets struct {
	Loss     float64 // training loss, at most
	Accuracy float64 // on the test set, at least
}

// A Cell is one run of a comparison.
type Cell struct {
	Label   string
	Network string
	Seed    uint64
	Set     []Override
	Tune    []Choice
	Until   []Override // time, loss or accuracy, at which it ends before its rounds are over
}

// ID returns a name of the cell that can be one of a folder.
func (c Cell) ID() string {
	return fmt.Sprintf("%s.%s.%d", fileName(c.Label), fileName(c.Network), c.Seed)
}

// fileName keeps letters, digits, dots and dashes of a name in small letters.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		}
		return '-'
	}, strings.ToLower(name))
}

// String returns how people call the cell.
func (c Cell) String() string {
	return fmt.Sprintf("%s on %s, seed %d", c.Label, c.Network, c.Seed)
}

// Cells lists the cells of c: all algorithms of a network and a seed stand
// together, so that what is compared was run at the same time.
func (c *Comparison) Cells() []Cell {
	var all []Cell
	for _, network := range c.Networks {
		for _, seed := range c.Seeds {
			for _, a := range c.Algorithms {
				set := []Override{{"seed", fmt.Sprint(seed)}}
				if c.Budget.Rounds > 0 {
					set = append(set, Override{"train.rounds", fmt.Sprint(c.Budget.Rounds)})
				}
				set = slices.Concat(set, network.Set, a.Set)
				all = append(all, Cell{Label: a.Label, Network: network.Name, Seed: seed, Set: set, Tune: a.Tune, Until: c.until()})
			}
		}
	}
	return all
}

// until says what ends a cell before its rounds are over.
func (c *Comparison) until() []Override {
	var all []Override
	if c.Budget.Time > 0 {
		all = append(all, Override{"time", c.Budget.Time.String()})
	}
	if t := c.Targets; c.Budget.Target {
		if t.Loss > 0 {
			all = append(all, Override{"loss", fmt.Sprint(t.Loss)})
		}
		if t.Accuracy > 0 {
			all = append(all, Override{"accuracy", fmt.Sprint(t.Accuracy)})
		}
	}
	return all
}
