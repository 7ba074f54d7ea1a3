package experiment

import (
	"encoding/json"
	"slices"

	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/train"
)

// MetaInput is the key of the metadata of model files that describes the samples, as JSON: see input.
const MetaInput = "input"

// An input says how PyTorch makes inputs of stored values v of channel or column c: (v/Scale − Mean[c]) / Std[c].
type input struct {
	Shape   []int     `json:"shape"` // of one sample: channels, rows, columns
	Classes []string  `json:"classes"`
	Scale   float64   `json:"scale,omitempty"`
	Mean    []float64 `json:"mean,omitempty"`
	Std     []float64 `json:"std,omitempty"`
	Columns []string  `json:"columns,omitempty"`     // names of the values of a table
	Label   string    `json:"label,omitempty"`       // name of its label column
	First   *int      `json:"first_index,omitempty"` // of the values in LIBSVM text
}

// Trained returns what the entry MetaInput of a model file says of its samples, nil if it says nothing.
func Trained(said string) *data.Trained {
	var in input
	if err := json.Unmarshal([]byte(said), &in); err != nil || len(in.Shape) != 3 || len(in.Classes) == 0 {
		return nil
	}
	t := &data.Trained{Table: data.Table{Columns: in.Columns, Label: in.Label, First: in.First}, Classes: in.Classes,
		Values: in.Shape[0], Scaled: in.Scale > 0}
	plain := in.Scale == 1 && !slices.ContainsFunc(in.Mean, func(v float64) bool { return v != 0 }) &&
		!slices.ContainsFunc(in.Std, func(v float64) bool { return v != 1 })
	if t.Scaled && !plain {
		t.Norm = &data.Normalization{Scale: in.Scale, Mean: in.Mean, Std: in.Std}
	}
	return t
}

// startsWith takes from the model of train.from what its samples were.
func startsWith(cfg *configs.Config) error {
	if cfg.Train.From == "" || cfg.External() || cfg.Data.Trained != "" {
		return nil
	}
	head, err := train.ReadLayout(cfg.Train.From)
	if err != nil {
		return unfit(err)
	}
	t := Trained(head.Metadata[MetaInput])
	if t == nil {
		cfg.Data.Trained = unsaid
	} else {
		cfg.Data.Trained = head.Metadata[MetaInput]
	}
	own := t != nil && cfg.Data.Name == "file" && t.Scaled && (t.Norm == nil || t.Norm.Scale == 1)
	if own && cfg.Data.Standardise == (t.Norm == nil) {
		return configs.Errorf("data.standardise", "the model of train.from was trained with data.standardise: %v, and its "+
			"scaling stays: set the same", !cfg.Data.Standardise).With("train.from")
	}
	return nil
}

// unsaid stands for a model whose file says nothing of its samples.
const unsaid = "{}"

// trainedOf returns what the model of a run says of its samples, nil for a new model.
func trainedOf(d configs.Data) *data.Trained {
	t := Trained(d.Trained)
	if t == nil && d.Trained != "" && d.Standardise {
		return &data.Trained{} // no scaling is known
	}
	return t
}
