package experiment

import (
	"encoding/json"
	"strconv"

	"gossiptrainer/internal/shards"
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
)

// SavedModel returns a replica as files hold it: names and layout of PyTorch, and metadata of the run. A model without
// running statistics has none. The replica must not change until it is written.
func (r *Run) SavedModel(x, statistics []float32) train.Saved {
	metadata := r.described()
	metadata["format"] = "pt" // says that the layout is PyTorch's
	metadata[MetaRun], metadata[MetaSeed] = r.cfg.Name, strconv.FormatUint(r.cfg.Seed, 10)
	metadata[MetaPeers] = strconv.Itoa(r.N())
	saved := r.Tensors(x, statistics)
	saved.Metadata = metadata
	return saved
}

// Tensors is SavedModel without metadata.
func (r *Run) Tensors(x, statistics []float32) train.Saved {
	return train.Saved{Parts: r.files.form.Parts(x, statistics), Layout: r.Layout()}
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

// described returns the metadata of model and data.
func (r *Run) described() map[string]string {
	metadata := map[string]string{MetaModel: text(r.cfg.ModelSettings())}
	if r.data == nil {
		return metadata
	}
	metadata[MetaData] = text(r.cfg.DataSet())
	metadata[shards.MetaInput] = r.data.Input()
	return metadata
}

func text(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic("internal error: experiment: metadata: " + err.Error()) // names and finite numbers
	}
	return string(text)
}
