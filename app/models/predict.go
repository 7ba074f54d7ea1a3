package models

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/modelfile"
	"gossiptrainer/internal/safefile"
	"gossiptrainer/internal/shards"
	"gossiptrainer/internal/train"
)

// AboutPredict is the help text of the command predict.
const AboutPredict = `predict the class of each sample in a file

MODEL is a model file of a run. FILE has samples like those of the run: CSV, Parquet, NumPy
arrays, IDX or LIBSVM, a picture, or a folder of pictures. It may have labels, which are
ignored. Columns are found by their names where both files have names. The output is CSV with
the row, its class, the probability of that class, and the file of a picture; --json prints
the same as one object.`

// ExamplePredict has examples of it.
const ExamplePredict = `  peer predict runs/iris-20260726-093015/model.safetensors new.csv
  peer predict model.safetensors new.csv --all -o classes.csv
  peer predict model.safetensors new.csv --set data.skip=[name]
  peer predict model.safetensors photos/ --json`

// A PredictRequest asks for the classes of samples.
type PredictRequest struct {
	Model string   // path of the model file
	File  string   // of the samples
	Out   string   // file to write; "": the output has the rows
	Set   []string // keys of the section data, as in key=value
	All   bool     // with the probability of every class
}

// Predictions are the output of "predict".
type Predictions struct {
	File  string       `json:"file,omitempty"` // has the classes as CSV; "": Of has them
	Rows  int          `json:"rows"`
	Of    []Prediction `json:"predictions,omitempty"`
	Notes []string     `json:"notes,omitempty"` // remarks about the file, for the user

	text []byte // CSV, where it goes to the output
}

// A Prediction is the class of a row.
type Prediction struct {
	Row         int                `json:"row"`            // from 1 on
	File        string             `json:"file,omitempty"` // of a picture
	Class       string             `json:"class"`
	Probability float64            `json:"probability"`
	All         map[string]float64 `json:"probabilities,omitempty"` // by class, where the request asks for all
}

// Predict classifies the samples of a file with a model file.
func Predict(r PredictRequest) (Predictions, error) {
	classifier, cfg, err := r.classifier()
	if err != nil {
		return Predictions{}, err
	}
	var text bytes.Buffer
	table := csv.NewWriter(&text)
	head := []string{"row", "class", "probability"}
	if r.All {
		head = append(head, classifier.Classes...)
	}
	done := Predictions{File: r.Out}
	notes, err := classifier.Classify(shards.FileSpec(cfg.Data), func(name string, p []float64) error {
		if done.Rows++; done.Rows == 1 {
			if name != "" {
				head = append(head, "file")
			}
			_ = table.Write(head) // a buffer takes everything
		}
		best := slices.Index(p, slices.Max(p))
		one := Prediction{Row: done.Rows, File: name, Class: classifier.Classes[best], Probability: p[best]}
		row := []string{strconv.Itoa(one.Row), one.Class, probability(one.Probability)}
		if r.All {
			one.All = map[string]float64{}
			for c, v := range p {
				one.All[classifier.Classes[c]] = v
				row = append(row, probability(v))
			}
		}
		if name != "" {
			row = append(row, name)
		}
		if r.Out == "" {
			done.Of = append(done.Of, one)
		}
		return table.Write(row)
	})
	if err != nil {
		return Predictions{}, fmt.Errorf("predict: %w", err)
	}
	if done.Rows == 0 {
		_ = table.Write(head)
	}
	quiet, loud := data.Sentences(notes)
	done.Notes = append(loud, quiet...)
	table.Flush()
	if r.Out == "" {
		done.text = text.Bytes()
		return done, table.Error()
	}
	return done, errors.Join(table.Error(), safefile.Write(r.Out, text.Bytes(), 0o644))
}

// classifier reads the model file.
func (r PredictRequest) classifier() (*modelfile.Classifier, configs.Config, error) {
	var none configs.Config
	path, err := checkpoint.StateFile(r.Model)
	if err != nil {
		return nil, none, advice.Usage(fmt.Errorf("predict: %w", err), "")
	}
	saved, err := train.ReadReplica(path)
	if err != nil {
		return nil, none, unreadable("predict", err)
	}
	if (Request{Model: path}).ofScript(saved) {
		return nil, none, &FileError{fmt.Errorf("predict: %s is a model of your own script: only that knows its classes",
			path), "read its tensors as " + advice.Page("models.md") + " shows"}
	}
	file, err := filepath.Abs(r.File)
	if err != nil {
		return nil, none, err
	}
	var set []string
	for _, key := range []string{modelfile.MetaModel, modelfile.MetaData} {
		if said := saved.Metadata[key]; said != "" {
			set = append(set, key+"="+said)
		}
	}
	set = append(set, "data.name="+ownFile, "data.path="+strconv.Quote(file))
	loaded, err := configs.Load(configs.Source{Env: os.Environ(), Set: slices.Concat(set, r.Set)})
	if err != nil {
		return nil, none, err
	}
	classifier, err := modelfile.NewClassifier(loaded.Config, saved, path)
	if err != nil {
		hint := named(saved)
		if errors.Is(err, modelfile.ErrNoInput) {
			hint = "take model.safetensors or peer-<rank>.safetensors of the folder of a run that learnt from data"
		}
		return nil, none, &FileError{fmt.Errorf("predict: %w", err), hint}
	}
	return classifier, loaded.Config, nil
}

// probability writes a probability with the digits that float32 carries.
func probability(p float64) string { return strconv.FormatFloat(p, 'f', 6, 64) }

// Write prints the rows, or says where they are.
func (p Predictions) Write(w io.Writer) error {
	if p.File == "" {
		_, err := w.Write(p.text)
		return err
	}
	_, err := fmt.Fprintf(w, "%s: the classes of %s\n", p.File, human.Count(p.Rows, "row"))
	return err
}
