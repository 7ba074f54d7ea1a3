package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
	samples "gossiptrainer/model/sample"
)

// A Classifier gives the probabilities of the classes for samples, by a trained model.
type Classifier struct {
	Classes []string // their names, in the order of the probabilities

	info      data.Info // of the samples
	batch     int
	objective model.Classifier
	x         []float32
}

// ErrNoInput says that the metadata of a model file do not describe the samples that it takes.
var ErrNoInput = errors.New("its metadata do not say which samples it takes")

// NewClassifier returns the classifier of a model file at path. Model and batch are those of cfg, the form of a sample
// and the classes those of the file's metadata. The error of another model is a *train.LayoutError.
func NewClassifier(cfg configs.Config, saved train.Saved, path string) (*Classifier, error) {
	var in input
	if err := json.Unmarshal([]byte(saved.Metadata[MetaInput]), &in); err != nil || !in.usable() {
		return nil, fmt.Errorf("%s: %w", path, ErrNoInput)
	}
	m := cfg.Model
	spec := model.Spec{
		Name: m.Name, Batch: cfg.Train.Batch, Hidden: m.Hidden, Depth: m.Depth, Norm: m.Norm,
		Shape: samples.Shape{C: in.Shape[0], H: in.Shape[1], W: in.Shape[2]}, Classes: len(in.Classes),
	}
	size, err := model.Measure(spec)
	if err != nil {
		return nil, err
	}
	cfg.Train.From = "" // it is not read
	files, err := newModelFiles(cfg, size)
	if err != nil {
		return nil, err
	}
	x, statistics, err := files.restore(saved, path, m.Name)
	if err != nil {
		return nil, err
	}
	f, err := model.New(spec)
	if err != nil {
		return nil, err
	}
	objective, ok := f.(model.Classifier)
	if !ok {
		return nil, fmt.Errorf("%s: the model %s has no classes", path, m.Name)
	}
	if err := setStatistics(f, statistics); err != nil {
		return nil, err
	}
	info := data.Info{
		Shape: spec.Shape, Columns: in.Columns, Pixels: in.Scale != 1,
		Norm: &data.Normalization{Scale: in.Scale, Mean: in.Mean, Std: in.Std},
	}
	return &Classifier{Classes: in.Classes, info: info, batch: spec.Batch, objective: objective, x: x}, nil
}

// usable reports whether the description is complete.
func (in input) usable() bool {
	return len(in.Shape) == 3 && len(in.Classes) > 1 && in.Scale > 0 && len(in.Mean) == in.Shape[0] &&
		len(in.Std) == in.Shape[0] && !slices.Contains(in.Std, 0)
}

// Classify passes the probabilities of the classes for each sample of a file of the user, in its order. p is valid
// during the call. The labels of the file are ignored.
func (c *Classifier) Classify(spec data.FileSpec, see func(p []float64) error) error {
	file, err := data.OpenSamples(spec, c.info)
	if err != nil {
		return err
	}
	all := make([]float64, c.batch*len(c.Classes))
	return file.Batches(c.batch, func(b samples.Batch) error {
		p := all[:b.Len()*len(c.Classes)]
		c.objective.Classify(p, c.x, b)
		for one := range slices.Chunk(p, len(c.Classes)) {
			if err := see(one); err != nil {
				return err
			}
		}
		return nil
	})
}
