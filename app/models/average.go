package models

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/shards"
	"gossiptrainer/internal/train"
)

// MostFiles bounds the files of one average.
const MostFiles = 1 << 16

// AboutAverage is the help text of the command average.
const AboutAverage = `average model files

The files are models of any program, in the safetensors format. They must have the same
tensors. Sums are in double precision; tensors of whole numbers are those of the first file.`

// ExampleAverage has an example of it.
const ExampleAverage = `  peer average a/peer-0.safetensors b/peer-1.safetensors -o model.safetensors`

// An Average is the output of "average".
type Average struct {
	File     string   `json:"file"`
	Of       []string `json:"of"`
	Tensors  int      `json:"tensors"`
	Elements int      `json:"elements"`
	Kept     []string `json:"kept"` // tensors of whole numbers that differ: they are those of the first file
}

// AverageFiles writes the mean of model files, of this program or of others, to the file out. watch hears
// how many bytes of them have been read.
func AverageFiles(files []string, out string, watch func(done, all int64)) (Average, error) {
	if out == "" {
		return Average{}, advice.Usage(errors.New("average: there is no file to write the mean to"), "name one with -o")
	}
	for _, file := range files {
		if _, err := checkpoint.StateFile(file); err != nil {
			return Average{}, advice.Usage(fmt.Errorf("average: %w", err), "")
		}
	}
	metadata, err := commonInput(files)
	if err != nil {
		return Average{}, err
	}
	done, err := train.Averaging{Files: files, Watch: watch, Metadata: metadata}.Write(out)
	if err != nil {
		hint := "all files must come from one model"
		if _, differs := errors.AsType[*train.LayoutError](err); differs {
			return Average{}, &FileError{err, hint}
		}
		return Average{}, unreadable("average", err)
	}
	if done.Kept == nil {
		done.Kept = []string{}
	}
	return Average{File: out, Of: files, Tensors: done.Tensors, Elements: done.Elements, Kept: done.Kept}, nil
}

// commonInput returns the description of samples that fits all files, where one says more than another. It refuses
// models of other columns, classes or scales: their mean is no model.
func commonInput(files []string) (map[string]string, error) {
	var most *data.Trained
	var of, said string
	for _, file := range files {
		head, err := train.ReplicaLayout(file)
		if err != nil {
			return nil, nil // the average names it
		}
		t, err := shards.TrainedOn(head)
		if err != nil {
			return nil, &FileError{fmt.Errorf("average: %s: %w", file, err), ""}
		}
		if t.Classes == nil {
			return nil, nil // of another program: the mean says nothing either
		}
		if most == nil {
			most, of, said = t, file, head.Metadata[shards.MetaInput]
		}
		if what := most.Differs(t); what != "" {
			return nil, &FileError{fmt.Errorf("average: %s and %s were trained on different %s: their mean is no model", of,
				file, what), "all files must come from one run, whose machines have the same columns and classes"}
		}
		if len(t.Columns) > len(most.Columns) || most.Norm == nil && t.Norm != nil {
			most, of, said = t, file, head.Metadata[shards.MetaInput]
		}
	}
	return map[string]string{shards.MetaInput: said}, nil
}

// Write prints the result.
func (a Average) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: the mean of %s, %s, %s\n", a.File, human.Count(len(a.Of), "file"),
		human.Count(a.Tensors, "tensor"), human.Count(a.Elements, "element"))
	if err == nil && len(a.Kept) > 0 {
		_, err = fmt.Fprintf(w, "of the first file, since they hold whole numbers: %s\n", strings.Join(a.Kept, ", "))
	}
	return err
}
