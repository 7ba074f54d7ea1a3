package shards

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"gossiptrainer/internal/data"
	"gossiptrainer/internal/train"
	samples "gossiptrainer/model/sample"
)

// MetaInput is the key of the metadata of model files that describes the samples, as JSON: see input.
const MetaInput = "input"

// An input says how PyTorch makes inputs of stored values v of channel or column c: (v/Scale − Mean[c]) / Std[c].
type input struct {
	Shape   []int     `json:"shape"` // of one sample: channels, rows, columns
	Classes []string  `json:"classes"`
	Columns []string  `json:"columns,omitempty"`     // names of the columns of a table, in order
	Label   string    `json:"label,omitempty"`       // name of its label column
	First   *int      `json:"first_index,omitempty"` // of the values in LIBSVM text
	Scale   float64   `json:"scale"`
	Mean    []float64 `json:"mean"`
	Std     []float64 `json:"std"`
}

// inputOf describes the samples of a data set.
func inputOf(info data.Info) input {
	in := input{
		Shape: []int{info.Shape.C, info.Shape.H, info.Shape.W}, Classes: info.Classes,
		Columns: info.Table.Columns, Label: info.Table.Label, First: info.Table.First,
	}
	if n := info.Norm; n != nil {
		in.Scale, in.Mean, in.Std = n.Scale, n.Mean, n.Std
	} else {
		in.Scale, in.Mean, in.Std = 1, make([]float64, info.Shape.C), slices.Repeat([]float64{1}, info.Shape.C)
	}
	return in
}

// TrainedOn returns what the metadata of a model file say of the samples that the model takes, and the zero value where
// they say nothing.
func TrainedOn(saved train.Saved) (*data.Trained, error) {
	said := saved.Metadata[MetaInput]
	if said == "" {
		return &data.Trained{}, nil
	}
	var in input
	if err := json.Unmarshal([]byte(said), &in); err != nil {
		return nil, fmt.Errorf("its metadata entry %s is no description of samples: %w", MetaInput, err)
	}
	if why := in.wrong(); why != "" {
		return nil, fmt.Errorf("its metadata entry %s is no description of samples: %s", MetaInput, why)
	}
	return in.trained(), nil
}

// trained returns what a model needs of its samples. The scaling may be missing.
func (in input) trained() *data.Trained {
	t := &data.Trained{
		Table: data.Table{Columns: in.Columns, Label: in.Label, First: in.First}, Classes: in.Classes,
		Shape: samples.Shape{C: in.Shape[0], H: in.Shape[1], W: in.Shape[2]},
	}
	if in.Scale > 0 {
		t.Norm = &data.Normalization{Scale: in.Scale, Mean: in.Mean, Std: in.Std}
	}
	return t
}

// wrong names what contradicts itself, "" if nothing does. The scaling may be missing, as earlier versions wrote it.
func (in input) wrong() string {
	infinite := func(v float64) bool { return v-v != 0 }
	switch {
	case len(in.Shape) != 3 || slices.Min(in.Shape) < 1 || slices.Max(in.Shape) > math.MaxInt32:
		return fmt.Sprintf("shape %v, want channels, rows and columns", in.Shape)
	case len(in.Classes) < 2:
		return fmt.Sprintf("%d classes, want 2 at least", len(in.Classes))
	case len(in.Columns) > 0 && len(in.Columns) != in.Shape[0]:
		return fmt.Sprintf("%d columns for %d values", len(in.Columns), in.Shape[0])
	case in.First != nil && (*in.First < 0 || *in.First > 1):
		return fmt.Sprintf("first_index %d, want 0 or 1", *in.First)
	case in.Scale == 0 && in.Mean == nil && in.Std == nil:
		return ""
	case in.Scale <= 0 || infinite(in.Scale) || len(in.Mean) != in.Shape[0] || len(in.Std) != in.Shape[0] ||
		slices.Contains(in.Std, 0) || slices.ContainsFunc(slices.Concat(in.Mean, in.Std), infinite):
		return fmt.Sprintf("scale, mean and std must be finite, with %d means and deviations other than 0", in.Shape[0])
	}
	return ""
}

// Trained returns what a model that learns from these data needs to know of samples.
func (d *Dataset) Trained() *data.Trained {
	if d == nil {
		return &data.Trained{}
	}
	return inputOf(d.Info()).trained()
}

// Input returns the description of the samples in the metadata of a model file, as JSON.
func (d *Dataset) Input() string {
	text, err := json.Marshal(inputOf(d.Info()))
	if err != nil {
		panic("internal error: shards: " + err.Error()) // names and finite numbers
	}
	return string(text)
}
