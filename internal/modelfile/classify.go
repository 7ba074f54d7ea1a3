package modelfile

import (
	"errors"
	"fmt"
	"slices"

	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/shards"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
	samples "gossiptrainer/model/sample"
)

// A Classifier gives the probabilities of the classes for samples, by a trained model.
type Classifier struct {
	Classes []string // their names, in the order of the probabilities

	trained   *data.Trained
	batch     int
	objective model.Classifier
	x         []float32
}

// ErrNoInput says that the metadata of a model file do not describe the samples that it takes.
var ErrNoInput = errors.New("its metadata do not say which samples it takes")

// NewClassifier returns the classifier of a model file at path. Model and batch are those of cfg, the form of a sample
// and the classes those of the file's metadata. The error of another model is a *train.LayoutError.
func NewClassifier(cfg configs.Config, saved train.Saved, path string) (*Classifier, error) {
	t, err := shards.TrainedOn(saved)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if t.Classes == nil || t.Norm == nil {
		return nil, fmt.Errorf("%s: %w", path, ErrNoInput)
	}
	m := cfg.Model
	spec := model.Spec{
		Name: m.Name, Batch: cfg.Train.Batch, Hidden: m.Hidden, Depth: m.Depth, Norm: m.Norm,
		Shape: t.Shape, Classes: len(t.Classes),
	}
	size, err := model.Measure(spec)
	if err != nil {
		return nil, err
	}
	cfg.Train.From = "" // it is not read
	files, err := New(cfg, size, 0, nil)
	if err != nil {
		return nil, err
	}
	x, statistics, err := files.restore(saved, path)
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
	if err := score.SetStatistics(f, statistics); err != nil {
		return nil, err
	}
	return &Classifier{Classes: t.Classes, trained: t, batch: spec.Batch, objective: objective, x: x}, nil
}

// Classify passes the probabilities of the classes for each sample of a file of the user, in its order. The labels of
// the file are ignored. name is that of a picture, "" for other samples. p is valid during the call. The notes say what
// people should know of the file.
func (c *Classifier) Classify(
	spec data.FileSpec, see func(name string, p []float64) error,
) (notes []data.Note, err error) {
	spec.Trained = c.trained
	file, err := data.OpenSamples(spec)
	if err != nil {
		return nil, err
	}
	names, done := file.Names(), 0
	all := make([]float64, c.batch*len(c.Classes))
	err = file.Batches(c.batch, func(b samples.Batch) error {
		p := all[:b.Len()*len(c.Classes)]
		c.objective.Classify(p, c.x, b)
		for one := range slices.Chunk(p, len(c.Classes)) {
			name := ""
			if names != nil {
				name = names[done]
			}
			done++
			if err := see(name, one); err != nil {
				return err
			}
		}
		return nil
	})
	return file.Notes(), err
}
