package report

// Names of the files of a comparison in its folder.
const (
	ComparisonFile = "comparison.json"
	CellFile       = "cell.json"
	CellsFolder    = "cells"
)

// A Comparison is what "peer compare" leaves: what was compared and what came
// of it.
type Comparison struct {
	Name     string    `json:"name"`
	Mode     string    `json:"mode"` // lab or sim
	Base     string    `json:"base"`
	Compute  float64   `json:"compute_s,omitempty"` // sim: virtual time of a gradient
	Measured bool      `json:"compute_measured,omitempty"`
	Targets  Targets   `json:"targets"`
	Until    string    `json:"until,omitempty"` // what ends cells before their rounds are over
	Networks []Network `json:"networks"`
	Labels   []string  `json:"labels"` // of the algorithms, in the order of the file
	Seeds    []uint64  `json:"seeds"`
	Command  string    `json:"command"` // which made it
	Version  string    `json:"version"` // of the program
	Machine  string    `json:"machine"`
	Cells    []Cell    `json:"cells"`
}

// Targets are what the time is taken to; 0 = none.
type Targets struct {
	Loss     float64 `json:"loss,omitempty"`     // training loss
	Accuracy float64 `json:"accuracy,omitempty"` // on the test set
}

// A Network is the limit of all peers in some cells.
type Network struct {
	Name    string  `json:"name"`
	Rate    float64 `json:"rate_bits_per_s"` // 0 = unlimited
	Latency float64 `json:"latency_s"`       // one way
}

// A CellStatus is how a cell ended.
type CellStatus string

// How a cell ends.
const (
	CellDone     CellStatus = "ok"
	CellDiverged CellStatus = "diverged" // training failed: a result like others
	CellFailed   CellStatus = "failed"   // anything else
)

// A Cell is one run of a comparison. The fields of the summary are those of its
// run, if that went to its end.
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

	TimeToTarget  *float64 `json:"time_to_target_s"` // of the loss, else of the accuracy; null = not reached
	BytesToTarget *int64   `json:"bytes_to_target"`

	*Summary
}

// Reach fills in when the run reached the target.
func (c *Cell) Reach(run *Run, t Targets) {
	var r *Reached
	switch {
	case t.Loss > 0:
		r = run.ReachLoss(t.Loss)
	case t.Accuracy > 0:
		r = run.ReachAccuracy(t.Accuracy)
	}
	c.TimeToTarget, c.BytesToTarget = nil, nil
	if r != nil {
		c.TimeToTarget, c.BytesToTarget = &r.Time, &r.Bytes
	}
}
