// Package modelfile knows the files that hold the model of a run: their tensors and metadata, and the file from which
// training starts.
package modelfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"

	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shards"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
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

// Files says how files hold the model of a run, and reads the one from which workers start.
type Files struct {
	cfg     configs.Config
	workers int
	data    *shards.Dataset // nil for an objective without data
	known   bool            // the size of the model
	form    model.Form
	start   func() (start, error) // reads train.from once
}

// A start is a model from a file.
type start struct{ x, statistics []float32 }

// New returns the files of a run of some workers. It checks the names and shapes of the file train.from, if there is
// one: an error is a *configs.Error there.
func New(cfg configs.Config, size model.Size, workers int, data *shards.Dataset) (*Files, error) {
	f := &Files{cfg: cfg, workers: workers, data: data, known: size.Dim > 0, form: size.Form}
	if f.form == nil {
		f.form = model.PlainForm(size.Layout)
	}
	from := cfg.Train.From
	if from == "" {
		return f, nil
	}
	f.start = sync.OnceValues(func() (start, error) {
		saved, err := train.ReadKnown(from, cfg.Train.FromHash)
		if err != nil {
			return start{}, err
		}
		x, statistics, err := f.restore(saved, from)
		return start{x, statistics}, err
	})
	head, err := train.ReadLayout(from)
	if err == nil {
		err = f.Match(head, from)
	}
	if err != nil {
		return nil, unfit(err)
	}
	return f, nil
}

// With returns the files of a run with other data of the same form.
func (f *Files) With(data *shards.Dataset) *Files {
	other := *f
	other.data = data
	return &other
}

// unfit says that the file train.from cannot be the start of the run.
func unfit(err error) error {
	e := configs.Errorf("train.from", "%v", err)
	if differs, ok := errors.AsType[*train.LayoutError](err); ok {
		e = configs.Errorf("train.from", "%s", differs.Short())
		e.Problems[0].Hint = strings.Join(differs.Lists(), "\n      ")
	}
	if state, ok := errors.AsType[*train.StateError](err); ok {
		e.Problems[0].Hint = state.Hint()
	}
	return e.With("model.name", "model.hidden", "model.depth", "model.norm", "data.name")
}

// StartOf returns on which samples the model of train.from was trained, nil without one.
func StartOf(cfg configs.Config) (*data.Trained, error) {
	if cfg.Train.From == "" || cfg.External() {
		return nil, nil
	}
	head, err := train.ReadLayout(cfg.Train.From)
	if err != nil {
		return nil, unfit(err)
	}
	t, err := shards.TrainedOn(head)
	if err != nil {
		return nil, unfit(fmt.Errorf("%s: %w", cfg.Train.From, err))
	}
	return t, nil
}

// Start returns the model of train.from and its running statistics. All workers of a process share them.
func (f *Files) Start() (x, statistics []float32, err error) {
	s, err := f.start()
	return s.x, s.statistics, err
}

// Layout returns the names and shapes of the tensors in files of the model.
func (f *Files) Layout() []model.Param { return f.form.Layout() }

// Saved returns a replica as files hold it: names and layout of PyTorch, and metadata of the run. A model without
// running statistics has none. The replica must not change until it is written.
func (f *Files) Saved(x, statistics []float32) train.Saved {
	saved := f.Tensors(x, statistics)
	saved.Metadata = f.metadata()
	return saved
}

// metadata returns those of the run.
func (f *Files) metadata() map[string]string {
	all := map[string]string{
		"format": "pt", // says that the layout is PyTorch's
		MetaRun:  f.cfg.Name, MetaSeed: strconv.FormatUint(f.cfg.Seed, 10), MetaPeers: strconv.Itoa(f.workers),
		MetaModel: text(f.cfg.ModelSettings()),
	}
	if f.data != nil {
		all[MetaData], all[shards.MetaInput] = text(f.cfg.DataSet()), f.data.Input()
	}
	return all
}

// Final is Saved of the final replica of a worker.
func (f *Files) Final(x, statistics []float32, of record.Final) train.Saved {
	saved := f.Saved(x, statistics)
	saved.Metadata[MetaRank], saved.Metadata[MetaRounds] = strconv.Itoa(of.Rank), strconv.Itoa(of.Rounds)
	saved.Metadata[MetaDigest] = of.Digest
	return saved
}

// All returns the metadata of a file with the replicas of all workers after some rounds.
func (f *Files) All(rounds int) map[string]string {
	all := f.metadata()
	all[MetaRank], all[MetaRounds] = "all", strconv.Itoa(rounds)
	return all
}

// Mean is Saved of the mean of some replicas of a run with a digest.
func (f *Files) Mean(x, statistics []float32, replicas int, digest string) train.Saved {
	saved := f.Saved(x, statistics)
	maps.Copy(saved.Metadata, f.Average(digest))
	saved.Metadata["averaged"] = strconv.Itoa(replicas)
	return saved
}

// Average returns what the metadata of a mean say beside those of its run.
func (f *Files) Average(digest string) map[string]string {
	return map[string]string{MetaRank: "average", MetaDigest: digest}
}

func text(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic("internal error: modelfile: metadata: " + err.Error()) // names and finite numbers
	}
	return string(text)
}

// Tensors is Saved without metadata.
func (f *Files) Tensors(x, statistics []float32) train.Saved {
	return train.Saved{Parts: f.form.Parts(x, statistics), Layout: f.Layout()}
}

// Match checks that a file at path has the names and shapes of the model: the error is a *train.LayoutError. The vector
// of a checkpoint must have the model's length.
func (f *Files) Match(saved train.Saved, path string) error {
	name := f.cfg.Model.Name
	if !saved.Flat {
		return saved.Match(f.Layout(), path, "the model "+name)
	}
	if len(f.form.Statistics()) > 0 {
		return fmt.Errorf("%s is of a checkpoint, without the running statistics of the model %s in float32: take "+
			"peer-<rank>.safetensors, which a finished run leaves in its folder", path, name)
	}
	want := 0
	for _, p := range f.Layout() {
		want += p.Len()
	}
	if have := saved.Layout[0].Len(); have != want {
		return fmt.Errorf("%s has %d parameters, and the model %s has %d", path, have, name, want)
	}
	return nil
}

// Restore returns the flat vector and the running statistics of a model file of this run, or of another one with the
// same model. The error is a *train.LayoutError if names or shapes differ. The file of an external model without an
// outline is taken as it is.
func (f *Files) Restore(saved train.Saved, path string) (x, statistics []float32, err error) {
	if !f.known {
		return saved.X, nil, nil
	}
	return f.restore(saved, path)
}

// restore is Restore of a model of known size.
func (f *Files) restore(saved train.Saved, path string) (x, statistics []float32, err error) {
	if err := f.Match(saved, path); err != nil {
		return nil, nil, err
	}
	layout := f.Layout()
	if saved.Flat {
		layout = saved.Layout
	}
	y, err := saved.Ordered(layout)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if saved.Flat {
		return y, nil, nil
	}
	x, statistics = f.form.Import(y)
	return x, statistics, nil
}
