package configs

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Comparison is a set of runs: one cell for every combination of its networks, algorithms and seeds.
type Comparison struct {
	Name       string
	Base       string // preset or path of the run file from which every cell starts
	Mode       string // lab or sim
	Compute    string // costs of all algorithms without their own, for package cost; "": measured in part
	Cores      int    // that the workers of a cell share; 0: each has its own
	Networks   []NetworkCase
	Algorithms []Variant
	Seeds      []uint64
	Budget     Budget
	Tuning     Tuning
	Targets    Targets
	Levels     Levels
	// Evaluate is the rounds between evaluations, where a target needs them and the base has none; 0 = as the base says.
	Evaluate int
}

// A NetworkCase is a limit of all peers, and perhaps a number of rounds.
type NetworkCase struct {
	Name string
	Set  []Override // limit.*, train.rounds where it has its own, and further keys of the run file
}

// A Variant is an algorithm with its settings, under a label.
type Variant struct {
	Label   string
	Seeds   int // the number of seeds it is run with, from the first on; 0 = all
	Set     []Override
	Tune    []Choice
	Compute string // its costs; "": those of the comparison
}

// A Budget says when cells end: after their rounds, or before.
type Budget struct {
	Rounds int           // 0 = as the base says
	Time   time.Duration // virtual in sim, on the clock in lab; 0 = any
	Target bool          // when the target of the report is reached
}

// Tuning is the short run that decides between choices. Its seed is that of no cell, so that no algorithm is tuned to
// the runs in the report.
type Tuning struct {
	Rounds int // 0 = a quarter of the run's
	Seed   uint64
}

// Targets are the values until which a report measures the time; 0 = none. Of several they are the hardest.
type Targets struct {
	Loss     float64 // training loss, at most
	Accuracy float64 // on the test set, at least
}

// Levels are further, easier targets, from the easiest. They show whether a conclusion depends on the choice of a
// target.
type Levels struct {
	Loss     []float64 // falling, above Targets.Loss
	Accuracy []float64 // rising, below Targets.Accuracy
}

// A Cell is one run of a comparison.
type Cell struct {
	Label   string
	Network string
	Seed    uint64
	Set     []Override
	Tune    []Choice
	Until   []Override // time, loss or accuracy, at which it ends before its rounds are over
	Compute string     // its costs
}

// ID returns a name of the cell that is fit for a folder.
func (c Cell) ID() string {
	return fmt.Sprintf("%s.%s.%d", fileName(c.Label), fileName(c.Network), c.Seed)
}

// fileName returns a name in lower case, with a dash for every character that is no letter, digit, dot or dash.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		}
		return '-'
	}, strings.ToLower(name))
}

// String names the cell for people.
func (c Cell) String() string {
	return fmt.Sprintf("%s on %s, seed %d", c.Label, c.Network, c.Seed)
}

// Cells lists the cells of c. All algorithms of a network and a seed follow each other, so that the runs that are
// compared happen at about the same time. The first seed is that of all algorithms.
func (c *Comparison) Cells() []Cell {
	var all []Cell
	for _, network := range c.Networks {
		for i, seed := range c.Seeds {
			for _, a := range c.Algorithms {
				if a.Seeds > 0 && i >= a.Seeds {
					continue
				}
				set := []Override{{"seed", fmt.Sprint(seed)}}
				if c.Budget.Rounds > 0 {
					set = append(set, Override{"train.rounds", fmt.Sprint(c.Budget.Rounds)})
				}
				if c.Evaluate > 0 {
					set = append(set, Override{"output.evaluate", fmt.Sprint(c.Evaluate)})
				}
				set = slices.Concat(set, network.Set, a.Set)
				cell := Cell{Label: a.Label, Network: network.Name, Seed: seed, Set: set, Tune: a.Tune, Until: c.until(),
					Compute: a.Compute}
				if a.Compute == "" {
					cell.Compute = c.Compute
				}
				all = append(all, cell)
			}
		}
	}
	return all
}

// until returns the conditions that end a cell before its rounds are over.
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
