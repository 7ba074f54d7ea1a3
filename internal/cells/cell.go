// Package cells is the result of a comparison: its settings and what each cell reached, as comparison.json holds them.
package cells

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/safefile"
	"gossiptrainer/internal/stats"
)

// Names of the files of a comparison in its folder.
const (
	ComparisonFile = "comparison.json"
	CellFile       = "cell.json"
	CellsFolder    = "cells"
	ReportFolder   = "report" // of tables and figures
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

// A Status tells how a cell ended.
type Status string

// The ends of a cell.
const (
	Done     Status = "ok"
	Diverged Status = "diverged" // training failed: a result like others
	Failed   Status = "failed"   // anything else
)

// A Cell is one run of a comparison. It has a summary if the run finished.
type Cell struct {
	Label   string   `json:"label"`
	Network string   `json:"network"`
	Seed    uint64   `json:"seed"`
	Status  Status   `json:"status"`
	Error   string   `json:"error,omitempty"`
	Exit    int      `json:"exit"`
	Config  string   `json:"config_sha256"`    // of the run file and the mode: whether the cell is still up to date
	Tuned   []string `json:"tuned,omitempty"`  // key=value found by the search
	Folder  string   `json:"folder,omitempty"` // of the run, in that of the comparison
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

// To returns when the run reached a target, or nil if it did not or the time is unknown.
func (c Cell) To(t record.Target) *record.Reached {
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

// Diverged returns the round in which the cell diverged. It returns false if the cell did not diverge or its error
// names no round.
func (c Cell) Diverged() (round int, ok bool) {
	_, where, _ := strings.Cut(c.Error, "round ")
	_, err := fmt.Sscanf(where, "%d", &round)
	return round, c.Status == Diverged && err == nil
}

// Fate describes how the cell ended.
func (c Cell) Fate() string {
	if round, ok := c.Diverged(); ok {
		return fmt.Sprintf("diverged in round %d", round)
	}
	return string(c.Status)
}

// A Setup says how the cells of an algorithm on a network are made, as the program knows it before they run.
type Setup struct {
	Label      string `json:"label"`
	Network    string `json:"network"`
	Algorithm  string `json:"algorithm"` // as in papers
	Paper      string `json:"paper"`
	Messages   string `json:"messages"` // their content
	Overlap    string `json:"overlap"`  // one of Overlaps, Waits and Asynchronous
	Graph      string `json:"graph"`
	Workers    int    `json:"workers"`
	Parameters int    `json:"parameters"` // of the model
	// Claim is the bytes that a peer sends in a round with an exchange, as papers count them: bits times parameters
	// times messages; 0: the bits are not fixed.
	Claim float64 `json:"claim_bytes,omitempty"`
	// Exchange is the time of a round's messages by the formula, in seconds; 0: there is none.
	Exchange float64 `json:"exchange_s"`
	Every    int     `json:"local_steps"` // rounds from one exchange to the next
	// Settings are the keys of the run file in which the cells of the comparison differ.
	Settings map[string]string `json:"settings,omitempty"`
}

// Predicted returns the seconds of a round by the formula, with a gradient of some seconds; 0: there is none. A round
// with an exchange takes the longer of gradient and messages where they overlap, else their sum.
func (s Setup) Predicted(gradient float64) float64 {
	if s.Exchange == 0 || s.Overlap == Asynchronous {
		return 0
	}
	round := gradient + s.Exchange
	if s.Overlap == Overlaps {
		round = max(gradient, s.Exchange)
	}
	every := float64(max(1, s.Every))
	return ((every-1)*gradient + round) / every
}

// A Trial is one short run of a search for values.
type Trial struct {
	Label    string   `json:"label"`
	Settings []string `json:"settings"`         // key=value
	Bounds   []string `json:"bounds,omitempty"` // keys whose value is the least or the largest that they allow
	Loss     *float64 `json:"train_loss"`
	Why      string   `json:"why,omitempty"` // why there is no loss
	Rounds   int      `json:"rounds"`
	Seed     uint64   `json:"seed"`
	Network  string   `json:"network"`           // on whose data the trial ran
	InGrid   bool     `json:"in_grid,omitempty"` // the search may choose it
	Default  bool     `json:"default,omitempty"` // the values that the run file has without the search
	Chosen   bool     `json:"chosen,omitempty"`
}

// The ways in which messages and gradients follow each other.
const (
	Overlaps     = "overlaps"     // messages travel while the gradient is computed
	Waits        = "waits"        // messages depend on the gradient
	Asynchronous = "asynchronous" // workers share no rounds
)

// Read reads the comparison in folder dir, without the records of its cells. The error is fs.ErrNotExist if
// there is none.
func Read(dir string) (*Comparison, error) {
	path := filepath.Join(dir, ComparisonFile)
	text, err := safefile.Read(path, record.MaxSummary)
	if err != nil {
		return nil, fmt.Errorf("report: %s holds no comparison: %w", dir, err)
	}
	c := new(Comparison)
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("report: %s: %w", path, err)
	}
	return c, nil
}

// Missing names the cells of a comparison that have no result yet.
func (c *Comparison) Missing() []string {
	var names []string
	for _, network := range c.Networks {
		for _, label := range c.Labels {
			seeds := c.Seeds
			if n, fewer := c.Fewer[label]; fewer {
				seeds = seeds[:min(n, len(seeds))]
			}
			for _, seed := range seeds {
				if !slices.ContainsFunc(c.Cells, func(cell Cell) bool {
					return cell.Network == network.Name && cell.Label == label && cell.Seed == seed
				}) {
					names = append(names, fmt.Sprintf("%s on %s, seed %d", label, network.Name, seed))
				}
			}
		}
	}
	return names
}

// TimeTo writes the time to a target of the cells of an algorithm on a network, without its unit. It is the mean with
// its interval, "at most" a bound, or a dash. If only some cells reach the target, it adds their number.
func TimeTo(all []Cell, target record.Target) string {
	e := Timed(all, target)
	if e.N == 0 || e.N == len(all) {
		return e.String()
	}
	return fmt.Sprintf("%v (%s)", e, human.Part(e.N, len(all), "run"))
}

// Timed returns the time at which finished cells reached a target. Its interval contains the records before and after
// that time.
func Timed(all []Cell, t record.Target) stats.Interval {
	var times, after, seen []float64
	for _, c := range all {
		if r := c.To(t); r != nil && c.Status == Done {
			times, after, seen = append(times, r.Time), append(after, r.After), append(seen, r.Seen)
		}
	}
	return stats.Ratio(times).Within(stats.Ratio(after).Mean, stats.Ratio(seen).Mean)
}
