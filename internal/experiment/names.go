package experiment

import (
	"gossiptrainer/algos"
	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/state"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A method is what algorithm.name stands for, or an all-reduce of a kind.
type method struct {
	// kind is the graph to run on, "" = that of the run file.
	kind    topology.Kind
	rows    func(*topology.Graph) []topology.Row
	build   func(r *Run, rank topology.Rank, x []float32) (gossip.Algorithm, error)
	payload func(r *Run) int // bytes of the largest message
	// machine replaces build for what has no rounds in common.
	machine func(r *Run, rank topology.Rank, x []float32, s *state.Snapshot) (gossip.Machine, error)
	spans   func(r *Run) int // parameters that a message speaks for; nil: all
	codec   bool             // sends models by the codec of the run file
	// admit says why a graph is of no use; nil: any will do.
	admit func(*topology.Graph) error
	// unsuited says why a compressor does not suit, "" if it does; nil: none is used.
	unsuited func(configs.Compressor, quant.Properties) string
	// compensated is the same with algorithm.error_feedback, where that is a choice.
	compensated func(configs.Compressor, quant.Properties) string
}

var methods = map[string]method{
	"dpsgd": {
		rows:    (*topology.Graph).Rows,
		build:   buildDPSGD,
		payload: roundPayload,
		codec:   true,
	},
	"d2": {
		rows:    (*topology.Graph).Rows,
		build:   buildD2,
		payload: roundPayload,
		codec:   true,
		admit:   admitD2,
	},
	"choco":       {rows: (*topology.Graph).Rows, build: buildChoco, payload: compressedPayload, unsuited: wantsContraction},
	"deepsqueeze": {rows: (*topology.Graph).Rows, build: buildDeepSqueeze, payload: compressedPayload, unsuited: wantsContraction},
	"dcd":         {rows: (*topology.Graph).Rows, build: buildDCD, payload: compressedPayload, unsuited: wantsUnbiased},
	"ecd":         {rows: (*topology.Graph).Rows, build: buildECD, payload: compressedPayload, unsuited: wantsUnbiased},
	"naive":       {rows: (*topology.Graph).Rows, build: buildNaive, payload: compressedPayload, unsuited: suitsAll},
	"adpsgd":      {rows: (*topology.Graph).Rows, machine: buildADPSGD, payload: pairPayload, codec: true},
	allReduce:     {}, // one of reductions
}

const floatBytes = 4

// largestChunk returns the most parameters of a chunk of all-reduce.
func largestChunk(r *Run) int { return (r.dim + r.N() - 1) / r.N() }

// Parameters returns how many parameters of the model a message speaks for,
// whatever part of them a sparse one has.
func (r *Run) Parameters() int {
	if r.method.spans == nil {
		return r.dim
	}
	return r.method.spans(r)
}

var orders = map[string]algos.Order{"cta": algos.CTA, "atc": algos.ATC}

func buildDPSGD(r *Run, rank topology.Rank, x []float32) (gossip.Algorithm, error) {
	codec, err := r.codec(rank)
	if err != nil {
		return nil, err
	}
	return &algos.DPSGD{X: x, Alpha: r.schedule.StepSize, Codec: codec, Order: orders[r.cfg.Algorithm.Order], Clip: r.clip()}, nil
}

func buildChoco(r *Run, rank topology.Rank, x []float32) (gossip.Algorithm, error) {
	c, err := r.compression(rank)
	return &algos.Choco{X: x, Alpha: r.schedule.StepSize, Gamma: float32(r.cfg.Algorithm.Gamma), Compression: c}, err
}

func buildDeepSqueeze(r *Run, rank topology.Rank, x []float32) (gossip.Algorithm, error) {
	c, err := r.compression(rank)
	return &algos.DeepSqueeze{X: x, Alpha: r.schedule.StepSize, Eta: float32(r.cfg.Algorithm.Gamma), Compression: c}, err
}

func buildDCD(r *Run, rank topology.Rank, x []float32) (gossip.Algorithm, error) {
	c, err := r.compression(rank)
	return &algos.DCD{X: x, Alpha: r.schedule.StepSize, Row: r.rows[rank], Compression: c}, err
}

func buildECD(r *Run, rank topology.Rank, x []float32) (gossip.Algorithm, error) {
	c, err := r.compression(rank)
	return &algos.ECD{X: x, Alpha: r.schedule.StepSize, Row: r.rows[rank], Compression: c}, err
}

func buildNaive(r *Run, rank topology.Rank, x []float32) (gossip.Algorithm, error) {
	c, err := r.compression(rank)
	return &algos.Naive{X: x, Alpha: r.schedule.StepSize, Compression: c}, err
}

// quantized says whether models travel as symbols of the modulo codec.
func (r *Run) quantized() bool {
	a := r.cfg.Algorithm
	return r.method.codec && a.Codec == "moniqua" && a.Bits != fullBits
}

// fullBits are the bits per parameter of full precision.
const fullBits = 32

// levels returns the N of the modulo codec, the smallest where it changes: a
// bound that holds for coarse values holds for fine ones.
func (r *Run) levels() int {
	if r.controlled() {
		return 1 << r.cfg.Algorithm.Controller.MinBits
	}
	if r.cfg.Algorithm.Levels > 0 {
		return r.cfg.Algorithm.Levels
	}
	return 1 << r.cfg.Algorithm.Bits
}

// Levels returns the N of the modulo codec where its grid is a matter of the run
// file: 0 without one, and where N or θ follow the run, so that what is far too
// large there does not stay so.
func (r *Run) Levels() int {
	if !r.quantized() || r.controlled() || r.cfg.Algorithm.Theta.Rule == "adaptive" {
		return 0
	}
	return r.levels()
}

func (r *Run) codec(rank topology.Rank) (algos.Codec, error) {
	if !r.quantized() {
		return algos.Full{}, nil
	}
	return r.moniqua(rank)
}

func modelPayload(r *Run) int {
	if !r.quantized() {
		return floatBytes * r.dim
	}
	packing, err := quant.NewPacking(r.levels())
	if err != nil {
		panic("internal error: experiment: " + err.Error()) // the rule for theta has checked the levels
	}
	return packing.Len(r.dim)
}

// roundPayload is modelPayload for codecs that verify, which may have to send
// repairs, or begin in full precision.
func roundPayload(r *Run) int {
	if !r.quantized() {
		return modelPayload(r)
	}
	codec, err := r.moniqua(0)
	if err != nil {
		panic("internal error: experiment: " + err.Error()) // the rule for theta has checked it
	}
	return codec.MaxPayload(r.dim)
}

// partitions are the ways to cut a train split into shards.
var partitions = map[string]func(y data.Labels, workers int, c configs.Config) (data.Partition, error){
	"iid": func(y data.Labels, workers int, c configs.Config) (data.Partition, error) {
		return data.IID(y, workers, c.Seed)
	},
	"labels": func(y data.Labels, workers int, c configs.Config) (data.Partition, error) {
		return data.ByLabel(y, workers, c.Data.PerWorker, c.Seed)
	},
	"dirichlet": func(y data.Labels, workers int, c configs.Config) (data.Partition, error) {
		return data.Dirichlet(y, workers, c.Data.Alpha, c.Seed)
	},
}
