package experiment

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/shards"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
)

// modelFiles says how files hold the model of a run, and reads the one from which workers start.
type modelFiles struct {
	layers []model.Param // of the vector
	form   model.Form
	start  func() (startingPoint, error) // reads train.from once
}

// A startingPoint is a model from a file.
type startingPoint struct{ x, statistics []float32 }

// newModelFiles checks the names and shapes of the file train.from, if there is one.
func newModelFiles(cfg configs.Config, size model.Size) (modelFiles, error) {
	f := modelFiles{form: size.Form}
	if f.form == nil {
		f.form = model.PlainForm(size.Layout)
	}
	t := cfg.Train
	if t.From == "" {
		return f, nil
	}
	f.start = sync.OnceValues(func() (startingPoint, error) {
		saved, err := train.ReadKnown(t.From, t.FromHash)
		if err != nil {
			return startingPoint{}, err
		}
		x, statistics, err := f.restore(saved, t.From, cfg.Model.Name)
		return startingPoint{x, statistics}, err
	})
	head, err := train.ReadLayout(t.From)
	if err == nil {
		err = f.match(head, t.From, cfg.Model.Name)
	}
	if err != nil {
		return f, unfit(err)
	}
	return f, nil
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

// startOf returns on which samples the model of train.from was trained, nil without one.
func startOf(cfg configs.Config) (*data.Trained, error) {
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

// match checks that a file has the names and shapes of the model, or, from a checkpoint, the number of its parameters.
func (f modelFiles) match(saved train.Saved, path, name string) error {
	if !saved.Flat {
		return saved.Match(f.form.Layout(), path, "the model "+name)
	}
	if len(f.form.Statistics()) > 0 {
		return fmt.Errorf("%s is of a checkpoint, without the running statistics of the model %s in float32: take "+
			"peer-<rank>.safetensors, which a finished run leaves in its folder", path, name)
	}
	want := 0
	for _, p := range f.form.Layout() {
		want += p.Len()
	}
	if have := saved.Layout[0].Len(); have != want {
		return fmt.Errorf("%s has %d parameters, and the model %s has %d", path, have, name, want)
	}
	return nil
}

// restore returns the flat vector and the running statistics that a file holds.
func (f modelFiles) restore(saved train.Saved, path, name string) (x, statistics []float32, err error) {
	if err := f.match(saved, path, name); err != nil {
		return nil, nil, err
	}
	layout := f.form.Layout()
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
