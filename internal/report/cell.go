package report

import (
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/internal/record"
)

// Names of the files of a comparison in its folder.
const (
	ComparisonFile = "comparison.json"
	CellFile       = "cell.json"
	CellsFolder    = "cells"
)

// A Comparison is the result of "peer compare": the settings and all cells.
type Comparison struct {
	Name     string  `json:"name"`
	Mode     string  `json:"mode"` // lab or sim
	Base     string  `json:"base"`
	Compute  float64 `json:"compute_s,omitempty"` // sim: virtual time of a gradient
	Measured bool    `json:"compute_measured,omitempty"`
	// Costs are the processor times of a gradient, coding and links by label, as "peer sim --compute" reads them; nil:
	// coding takes no time.
	Costs   map[string]string `json:"costs,omitempty"`
	Cores   int               `json:"cores,omitempty"` // that the workers of a cell share; 0: each has its own
	Targets record.Targets    `json:"targets"`         // the hardest of each metric
	// Levels are easier targets, from the easiest of each metric.
	Levels   []record.Target `json:"levels,omitempty"`
	Until    string          `json:"until,omitempty"` // the condition that ends cells early
	Networks []Network       `json:"networks"`
	Labels   []string        `json:"labels"` // of the algorithms, in the order of the file
	Seeds    []uint64        `json:"seeds"`
	Fewer    map[string]int  `json:"fewer_seeds,omitempty"` // by label: the number of seeds, from the first on
	Command  string          `json:"command"`               // command line that made it
	Find     string          `json:"find_data,omitempty"`   // words after it: --data and folders, from that of the report
	Script   string          `json:"script,omitempty"`      // the words after it: -- and the command of a script
	Version  string          `json:"version"`               // of the program
	Machine  string          `json:"machine"`
	Made     string          `json:"made,omitempty"` // when its last cell was run
	Data     []DataFile      `json:"data,omitempty"`
	// Settings are the keys of the run files that all cells share and that are not the defaults.
	Settings map[string]string `json:"settings,omitempty"`
	Setups   []Setup           `json:"setups,omitempty"` // by network, then by label
	Trials   []Trial           `json:"trials,omitempty"` // of the searches, in their order
	Cells    []Cell            `json:"cells"`
}

// A DataFile is a file of a data set. A built-in set has no file.
type DataFile struct {
	Set    string `json:"set"`
	File   string `json:"file,omitempty"`
	Size   int64  `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

// String returns the name, size and hash of the file.
func (f DataFile) String() string {
	if f.File == "" {
		return f.Set + ", which is built in"
	}
	return fmt.Sprintf("%s, %s, %d bytes, sha256 %s", f.Set, f.File, f.Size, f.SHA256)
}

// A Network is a bandwidth limit and a latency of all peers.
type Network struct {
	Name    string  `json:"name"`
	Rate    float64 `json:"rate_bits_per_s"` // 0 = unlimited
	Latency float64 `json:"latency_s"`       // one way
}

// A CellStatus tells how a cell ended.
type CellStatus string

// The ends of a cell.
const (
	CellDone     CellStatus = "ok"
	CellDiverged CellStatus = "diverged" // training failed: a result like others
	CellFailed   CellStatus = "failed"   // anything else
)

// A Cell is one run of a comparison. It has a summary if the run finished.
type Cell struct {
	Label   string     `json:"label"`
	Network string     `json:"network"`
	Seed    uint64     `json:"seed"`
	Status  CellStatus `json:"status"`
	Error   string     `json:"error,omitempty"`
	Exit    int        `json:"exit"`
	Config  string     `json:"config_sha256"`    // of the run file and the mode: whether the cell is still up to date
	Tuned   []string   `json:"tuned,omitempty"`  // key=value found by the search
	Folder  string     `json:"folder,omitempty"` // of the run, in that of the comparison
	// Results is the version of results of the program that made the cell, see experiment.ResultsVersion. Cells without
	// one are from version 1. Program is the version of that program.
	Results int    `json:"results_version,omitempty"`
	Program string `json:"program,omitempty"`

	ToLoss     *record.Reached `json:"to_loss"` // null = no such target, or not reached
	ToAccuracy *record.Reached `json:"to_accuracy"`
	// ToLevels are the times to the levels of the comparison, in their order.
	ToLevels []LevelTime `json:"to_levels,omitempty"`

	*record.Summary
}

// Reach fills in the times at which the run reached the targets.
func (c *Cell) Reach(run *record.Run, t record.Targets) {
	c.ToLoss, c.ToAccuracy = nil, nil
	if t.Loss > 0 {
		c.ToLoss = run.ReachLoss(t.Loss)
	}
	if t.Accuracy > 0 {
		c.ToAccuracy = run.ReachAccuracy(t.Accuracy)
	}
}

// A LevelTime is the time of a cell to an easier target.
type LevelTime struct {
	record.Target
	Reached *record.Reached `json:"reached"` // null = not reached
}

// ReachLevels fills in the times at which the run reached easier targets.
func (c *Cell) ReachLevels(run *record.Run, levels []record.Target) {
	c.ToLevels = nil
	for _, t := range levels {
		c.ToLevels = append(c.ToLevels, LevelTime{t, run.Reach(t)})
	}
}

// Goals returns all targets: losses, then accuracies, each from the easiest to the hardest.
func (c *Comparison) Goals() []record.Target {
	var all []record.Target
	for _, hardest := range c.Targets.List() {
		for _, t := range c.Levels {
			if t.Metric == hardest.Metric {
				all = append(all, t)
			}
		}
		all = append(all, hardest)
	}
	return all
}

// to returns when the run reached a target, or nil if it did not or the time is unknown.
func (c Cell) to(t record.Target) *record.Reached {
	for _, level := range c.ToLevels {
		if level.Target == t {
			return level.Reached
		}
	}
	if t.Metric == record.TestAccuracy {
		return c.ToAccuracy
	}
	return c.ToLoss
}

// diverged returns the round in which the cell diverged. It returns false if the cell did not diverge or its error
// names no round.
func (c Cell) diverged() (round int, ok bool) {
	_, where, _ := strings.Cut(c.Error, "round ")
	_, err := fmt.Sscanf(where, "%d", &round)
	return round, c.Status == CellDiverged && err == nil
}

// fate describes how the cell ended.
func (c Cell) fate() string {
	if round, ok := c.diverged(); ok {
		return fmt.Sprintf("diverged in round %d", round)
	}
	return string(c.Status)
}

// fate describes how the unfinished cells ended. If some diverged, it names only those.
func (g *Group) fate() string {
	var rounds []int
	for _, cell := range g.Cells {
		if round, ok := cell.diverged(); ok {
			rounds = append(rounds, round)
		}
	}
	switch {
	case len(rounds) == 0 && g.ended(CellDiverged) > 0:
		return string(CellDiverged)
	case len(rounds) == 0:
		return string(CellFailed)
	}
	first, last := slices.Min(rounds), slices.Max(rounds)
	if first == last {
		return fmt.Sprintf("diverged in round %d", first)
	}
	return fmt.Sprintf("diverged in rounds %d to %d", first, last)
}
