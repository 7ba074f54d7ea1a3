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
	MadeBy    string `json:"made_by"` // of a file of the program itself; "": the reference is independent
	Problem   problem
	Topology  topologySpec
	Algorithm runAlgorithm
	X0        [][]float64
	StepSize  perRound `json:"step_size"`
	Steps     int
	Lanes     int // of the second set
	Tolerance struct{ Float32 float64 }
	results
}

// results are what a run gives.
type results struct {
	Checkpoints []modelsAt     `json:"checkpoints"`
	Mean        []meanAt       `json:"mean"`
	BytesSent   []int          `json:"bytes_sent_per_peer"`
	FinalLoss   float64        `json:"final_loss_at_mean"`
	FinalSpread float64        `json:"final_consensus_linf"`
	Messages    []firstMessage `json:"first_messages,omitempty"`
	Gap         float64        `json:"max_neighbor_gap_over_theta,omitempty"`
	Gaps        []float64      `json:"gaps_over_theta,omitempty"` // of the second set, by lane
	Errors      []decodeError  `json:"decode_errors,omitempty"`
}

// A modelsAt has the models of all workers after a step.
type modelsAt struct {
	Step int         `json:"step"`
	X    [][]float64 `json:"x"`
}

// A meanAt has the mean of the models after a step.
type meanAt struct {
	Step int       `json:"step"`
	X    []float64 `json:"x"`
}

// A firstMessage has the messages of some workers in a step, by worker.
type firstMessage struct {
	Step    int             `json:"step"`
	Lane    int             `json:"lane"`
	Grid    float64         `json:"grid"`
	Peers   []topology.Rank `json:"peers"`
	K       [][]int32       `json:"k"`
	Symbols [][]uint16      `json:"symbols"`
	Hash    []string        `json:"hash"`
}

// A decodeError counts the coordinates in which a receiver decodes another index than the sender's.
type decodeError struct {
	Step     int           `json:"step"`
	Lane     int           `json:"lane"`
	Receiver topology.Rank `json:"receiver"`
	Sender   topology.Rank `json:"sender"`
	Coords   int           `json:"coords"`
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

// varieties names all varieties of a row.
func varieties(row registry.Algorithm) []string {
	names := []string{variety(row, "", false)}
	if row.ByMoniqua() {
		names = append(names, variety(row, registry.Moniqua, false))
	}
	if row.Sends.Feedback != registry.NoCompressor {
		names = append(names, variety(row, "", true))
	}
	return names
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
