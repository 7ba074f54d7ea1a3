package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"gossiptrainer/internal/registry"
	"gossiptrainer/topology"
)

// A runFile is a file in runs: the reference of a short exact run.
type runFile struct {
	Name      string
	Problem   problem
	Topology  topologySpec
	Algorithm runAlgorithm
	X0        [][]float64
	StepSize  perRound `json:"step_size"`
	Steps     int

	Checkpoints []struct {
		Step int
		X    [][]float64
	}
	Mean []struct {
		Step int
		X    []float64
	}
	BytesSent   []int   `json:"bytes_sent_per_peer"`
	FinalLoss   float64 `json:"final_loss_at_mean"`
	FinalSpread float64 `json:"final_consensus_linf"`
	Tolerance   struct{ Float32 float64 }

	FirstMessages []struct {
		Step    int
		Lane    int
		Grid    float64
		Peers   []topology.Rank
		K       [][]int32
		Symbols [][]uint16
		Hash    []string
	} `json:"first_messages"`
	Lanes         int           // of the second set
	GapOverTheta  float64       `json:"max_neighbor_gap_over_theta"`
	GapsOverTheta []float64     `json:"gaps_over_theta"` // of the second set, by lane
	DecodeErrors  []decodeError `json:"decode_errors"`
}

// A decodeError counts the coordinates in which a receiver decodes another index than the sender's.
type decodeError struct {
	Step, Lane       int
	Receiver, Sender topology.Rank
	Coords           int
}

// inOrder returns the errors by step, lane, receiver and sender.
func inOrder(errors []decodeError) []decodeError {
	return slices.SortedFunc(slices.Values(errors), func(a, b decodeError) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Lane, b.Lane),
			cmp.Compare(a.Receiver, b.Receiver), cmp.Compare(a.Sender, b.Sender))
	})
}

// A runAlgorithm is the update rule of a run. Unknown fields are errors, because one could change the run.
type runAlgorithm struct {
	Name          string
	Order         string // dpsgd
	Momentum      float64
	WeightDecay   float64 `json:"weight_decay"`
	Moniqua       *runMoniqua
	Verify        bool
	Compressor    *compressorSpec
	ErrorFeedback bool    `json:"error_feedback"`
	Server        string  // allreduce
	Gamma         float64 // choco
	Eta           float64 // deepsqueeze, kgt
	LocalSteps    int     `json:"local_steps"`
	Optimizer     *optimizerSpec
	Seed          seed
	Events        []event // adpsgd
}

type runMoniqua struct {
	Levels int
	Mode   string
	Theta  perRound
	Theta2 perRound // of lane 1
	Seed   seed
}

// theta returns the bound of a lane.
func (m *runMoniqua) theta(lane int) perRound {
	if lane > 0 {
		return m.Theta2
	}
	return m.Theta
}

func (a *runAlgorithm) UnmarshalJSON(text []byte) error {
	type plain runAlgorithm
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	return strict.Decode((*plain)(a))
}

// A perRound is one number for all rounds, or a number for each round.
type perRound []float64

func (p *perRound) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("[")) {
		return json.Unmarshal(text, (*[]float64)(p))
	}
	*p = make(perRound, 1)
	return json.Unmarshal(text, &(*p)[0])
}

func (p perRound) at(k int) float64 {
	if len(p) == 1 {
		return p[0]
	}
	return p[k]
}

// A seed is a number in JSON, written as a string if it needs more than 53 bits.
type seed uint64

func (s *seed) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseUint(string(bytes.Trim(text, `"`)), 10, 64)
	*s = seed(v)
	return err
}

// loadRuns reads all files in runs.
func loadRuns(t *testing.T) []runFile {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Dir(), "runs", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no run files in %s (%v)", Dir(), err)
	}
	runs := make([]runFile, len(files))
	for i, file := range files {
		Load(t, path.Join("runs", filepath.Base(file)), &runs[i])
	}
	return runs
}

// row returns the row of the algorithm. The vectors call D-PSGD with Moniqua "moniqua", and tell the forms of
// all-reduce apart by their settings.
func (a runAlgorithm) row() (registry.Algorithm, bool) {
	name, form := a.Name, "ring"
	if name == "moniqua" {
		name = "dpsgd"
	}
	switch {
	case a.Server != "":
		form = "server"
	case a.Compressor != nil:
		form = "allgather"
	}
	return registry.Find(name, form)
}

// variety names the variety of its row that a run of the algorithm covers.
func (a runAlgorithm) variety() string {
	row, _ := a.row()
	codec := registry.Full
	if a.Moniqua != nil {
		codec = registry.Moniqua
	}
	if !row.ByCodec() {
		codec = ""
	}
	return variety(row, codec, a.ErrorFeedback)
}

// variety names a row together with the choices that change the algorithm.
func variety(row registry.Algorithm, codec string, feedback bool) string {
	name := row.String()
	if codec == registry.Moniqua {
		name += " with moniqua"
	}
	if feedback {
		name += " with error feedback"
	}
	return name
}
