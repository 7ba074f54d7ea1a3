package experiment

import (
	"encoding/json"
	"slices"
	"strconv"

	"gossiptrainer/internal/train"
)

// Keys of the metadata of model files.
const (
	MetaRun    = "run"    // name of the run
	MetaSeed   = "seed"   // of the run
	MetaPeers  = "peers"  // number of workers of the run
	MetaRounds = "rounds" // that the replica has trained
	MetaRank   = "rank"   // of the replica; "average" for the mean of all
	MetaDigest = "digest" // of the replica, or of the run whose replicas are averaged
	MetaModel  = "model"  // JSON: the section model of the run file, keys with effect alone
	MetaData   = "data"   // JSON: the same of the section data
	MetaInput  = "input"  // JSON: how PyTorch makes inputs of stored values, see input
)

// SavedModel returns a replica as files hold it: names and layout of PyTorch, and metadata of the run. A model without
// running statistics has none. The replica must not change until it is written.
func (r *Run) SavedModel(x, statistics []float32) train.Saved {
	metadata := r.described()
	metadata["format"] = "pt" // says that the layout is PyTorch's
	metadata[MetaRun], metadata[MetaSeed] = r.cfg.Name, strconv.FormatUint(r.cfg.Seed, 10)
	metadata[MetaPeers] = strconv.Itoa(r.N())
	return train.Saved{Parts: r.files.form.Parts(x, statistics), Layout: r.Layout(), Metadata: metadata}
}

// RestoredModel returns the flat vector and the running statistics of a model file of this run, or of another one with
// the same model. The error is a *train.LayoutError if names or shapes differ.
// The file of an external model without an outline is taken as it is.
func (r *Run) RestoredModel(saved train.Saved, path string) (x, statistics []float32, err error) {
	if r.dim == 0 {
		return saved.X, nil, nil
	}
	return r.files.restore(saved, path, r.cfg.Model.Name)
}

// MatchModel checks that a model file has the names and shapes of the run's model: the error is a *train.LayoutError.
// The vector of a checkpoint must have the model's length.
func (r *Run) MatchModel(saved train.Saved, path string) error {
	return r.files.match(saved, path, r.cfg.Model.Name)
}

// An input says how PyTorch makes inputs of stored values v of channel or column c: (v/Scale − Mean[c]) / Std[c].
type input struct {
	Shape   []int     `json:"shape"` // of one sample: channels, rows, columns
	Classes []string  `json:"classes"`
	Columns []string  `json:"columns,omitempty"` // names of the columns of a table, in order
	Scale   float64   `json:"scale"`
	Mean    []float64 `json:"mean"`
	Std     []float64 `json:"std"`
}

// described returns the metadata of model and data.
func (r *Run) described() map[string]string {
	metadata := map[string]string{MetaModel: text(r.cfg.ModelSettings())}
	if r.data == nil {
		return metadata
	}
	metadata[MetaData] = text(r.cfg.DataSet())
	info := r.data.sources[0].Info
	in := input{Shape: []int{info.Shape.C, info.Shape.H, info.Shape.W}, Classes: info.Classes,
		Columns: info.Columns}
	if n := info.Norm; n != nil {
		in.Scale, in.Mean, in.Std = n.Scale, n.Mean, n.Std
	} else {
		in.Scale, in.Mean, in.Std = 1, make([]float64, info.Shape.C), slices.Repeat([]float64{1}, info.Shape.C)
	}
	metadata[MetaInput] = text(in)
	return metadata
}

func text(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic("internal error: experiment: metadata: " + err.Error()) // names and finite numbers
	}
	return string(text)
}
