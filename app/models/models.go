// Package models evaluates and averages model files for the command line. It finds the model and the data of a file in
// a run file, in flags, in the file's metadata, or by names and shapes.
package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/modelfile"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/report"
	"gossiptrainer/internal/safefile"
	"gossiptrainer/internal/shards"
	"gossiptrainer/internal/train"
)

// AboutEvaluate is the help text of the command evaluate.
const AboutEvaluate = `print loss and accuracy of a model file on test rows

MODEL is a safetensors file, of a run or of another program: docs/models.md has the names
and shapes. It may also be a checkpoint of a worker. Model and data are those of the run
file FILE. Without it they are those that the metadata of MODEL name. For a checkpoint, and
a run on a file of yours, the run.yaml of the run folder names them. The score is that of
their test split. With --data and a file of your own it is that of all its rows, unless
--set names data.test or data.test_share.

A table has the accuracy of each class and its most frequent wrong prediction. --output draws
the confusion matrix: the rows of each class by the predicted class.`

// ExampleEvaluate has examples of it.
const ExampleEvaluate = `  peer evaluate runs/ring8-20260726-093015/model.safetensors
  peer evaluate trained.safetensors --data fashion-mnist --json
  peer evaluate trained.safetensors --data new.csv -o confusion.png
  peer evaluate trained.safetensors my-run.yaml
  peer evaluate runs/ring8-20260726-093015/checkpoints/rank-0/round-00000200`

// A FileError says that a model file cannot be read, or is for another model.
type FileError struct {
	err  error
	hint string
}

func (e *FileError) Error() string { return e.err.Error() }
func (e *FileError) Unwrap() error { return e.err }

// Hint says what to do, "" where there is nothing to say.
func (e *FileError) Hint() string { return e.hint }

// A Request asks for the score of a model file.
type Request struct {
	Model   string   // path
	RunFile string   // names model and data; "": the metadata of the model file do
	Data    string   // name of another data set, or a file of samples; "" for none
	Set     []string // further keys of the run file, as in key=value
	Picture string   // file for the picture of the classes, "" for none
}

// Of returns the request for the arguments of the command: the model file, and perhaps a run file.
func (r Request) Of(args []string) Request {
	r.Model = args[0]
	if len(args) > 1 {
		r.RunFile = args[1]
	}
	return r
}

// A Score is the output of "evaluate".
type Score struct {
	File     string         `json:"file"`
	Model    string         `json:"model"`
	Data     string         `json:"data,omitempty"`
	Rows     string         `json:"rows_of,omitempty"` // the file whose rows are all scored; "": a test split is
	Run      string         `json:"run,omitempty"`     // that trained it
	Samples  int            `json:"samples"`
	Loss     *float64       `json:"loss"`
	Accuracy *float64       `json:"accuracy"` // null where it has no meaning
	Settings map[string]any `json:"settings"` // the section model, only keys with effect
	Classes  []ClassScore   `json:"classes,omitempty"`
	Picture  string         `json:"picture,omitempty"`
	Notes    []string       `json:"notes,omitempty"`
}

// Evaluate scores a model file on the test split. watch hears how many samples are done.
func Evaluate(r Request, watch func(done, all int64)) (Score, error) {
	var err error
	if r.Model, err = checkpoint.StateFile(r.Model); err != nil {
		return Score{}, advice.Usage(fmt.Errorf("evaluate: %w", err), "")
	}
	head, err := train.ReplicaLayout(r.Model)
	if err != nil {
		return Score{}, unreadable("evaluate", err)
	}
	run, err := r.run(head)
	if err != nil {
		return Score{}, err
	}
	if err := run.Files().Match(head, r.Model); err != nil {
		return Score{}, &FileError{fmt.Errorf("evaluate: %w", err), named(head)}
	}
	if err := run.Data().Find(); err != nil {
		return Score{}, err
	}
	saved, err := train.ReadReplica(r.Model)
	if err != nil {
		return Score{}, unreadable("evaluate", err)
	}
	x, statistics, err := run.Files().Restore(saved, r.Model)
	if err != nil {
		return Score{}, &FileError{fmt.Errorf("evaluate: %w", err), "train again with a smaller train.step_size"}
	}
	score, counts, err := run.Scorer().Score(x, statistics, func(done, all int) { watch(int64(done), int64(all)) })
	if err != nil {
		return Score{}, err
	}
	cfg := run.Config()
	_, warnings := run.Data().Told()
	done := Score{
		File: r.Model, Model: cfg.Model.Name, Run: head.Metadata[modelfile.MetaRun], Samples: score.Samples,
		Loss: record.Number(score.Loss), Accuracy: record.Number(score.Accuracy), Settings: cfg.ModelSettings(),
		Notes: warnings,
	}
	if cfg.LearnsFromData() {
		done.Data = cfg.Data.Name
		if r.whole() {
			done.Rows = r.Data
		}
	}
	return done, r.byClass(&done, run.Data().Info().Classes, counts)
}

// byClass adds the scores of the classes, where there are some, and draws them.
func (r Request) byClass(done *Score, names []string, counts [][]int) error {
	if counts == nil {
		if r.Picture != "" {
			return advice.Usage(errors.New("evaluate: --output: there are no classes to draw"), "")
		}
		return nil
	}
	done.Classes = classScores(names, counts)
	if r.Picture == "" {
		return nil
	}
	var picture bytes.Buffer
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(r.Picture)), ".")
	if err := report.WriteConfusion(&picture, names, counts, format); err != nil {
		return advice.Usage(fmt.Errorf("evaluate: --output %s: %w", r.Picture, err), "end the name in .png, .svg or .pdf")
	}
	done.Picture = r.Picture
	return safefile.Write(r.Picture, picture.Bytes(), 0o644)
}

// run assembles the run that evaluates a file.
func (r Request) run(head train.Saved) (*experiment.Run, error) {
	if r.RunFile == "" && head.Flat {
		r.RunFile = around(r.Model)
	} else if r.RunFile == "" && r.needsFile(head) {
		r.RunFile = beside(r.Model)
	}
	trained, err := r.trained(head)
	if err != nil {
		return nil, err
	}
	if r.RunFile != "" {
		return assemble(r.RunFile, slices.Concat(r.chosen(), r.Set), trained)
	}
	if head.Flat && !r.sets("model", "model.name") {
		return nil, advice.Usage(fmt.Errorf("evaluate: %s is of a checkpoint, which names neither model nor data", r.Model),
			"give the run.yaml of its run folder behind it")
	}
	if r.ofScript(head) {
		return nil, &FileError{fmt.Errorf("evaluate: %s is a model of your own script: only that can evaluate it", r.Model),
			"read its tensors as " + advice.Page("models.md") + " shows; peer average works for all models"}
	}
	set, err := r.data(head)
	if err != nil {
		return nil, err
	}
	if said := head.Metadata[modelfile.MetaModel]; said != "" && !r.sets("model", "model.name") {
		set = append(set, modelfile.MetaModel+"="+said)
	} else if !r.sets("model", "model.name") {
		return r.guess(head, set)
	}
	return assemble("", slices.Concat(set, r.Set), trained)
}

// trained returns on which samples the model was trained. A checkpoint does not say it, but its run file does.
func (r Request) trained(head train.Saved) (*data.Trained, error) {
	if !head.Flat {
		t, err := shards.TrainedOn(head)
		if err != nil {
			return nil, &FileError{fmt.Errorf("evaluate: %s: %w", r.Model, err), "train the model again with this version"}
		}
		return t, nil
	}
	others := r.Data != "" || slices.ContainsFunc(r.Set, func(s string) bool { return strings.HasPrefix(s, "data") })
	if r.RunFile == "" || !others {
		return nil, nil
	}
	run, err := assemble(r.RunFile, nil, nil)
	if err != nil {
		return nil, err
	}
	return run.Data().Trained(), nil
}

// around returns the run file of the run folder in which the state of a checkpoint lies, "" without one.
func around(state string) string {
	return beside(filepath.Join(filepath.Dir(state), "..", "..", "..", "state"))
}

// beside returns the run file of the run folder in which a model file lies, "" without one.
func beside(model string) string {
	file := filepath.Join(filepath.Dir(model), runfolder.RunFile)
	if safefile.Check(file) != nil {
		return ""
	}
	return file
}

// needsFile reports whether a model was trained on a file of the user, which neither its metadata nor the request name.
func (r Request) needsFile(head train.Saved) bool {
	var said struct{ Name string }
	_ = json.Unmarshal([]byte(head.Metadata[modelfile.MetaData]), &said) // other texts name nothing
	return said.Name == ownFile && r.Data == "" && !r.sets("data", "data.name", "data.path")
}

// ofScript reports whether a script trained the model, and the request names no other one.
func (r Request) ofScript(head train.Saved) bool {
	var said configs.Config
	err := json.Unmarshal([]byte(head.Metadata[modelfile.MetaModel]), &said.Model)
	return err == nil && said.External() && !r.sets("model", "model.name")
}

// ownFile is the data set of a file of the user.
const ownFile = "file"

// dataSet returns the name of the data set that the user chose, and the file of ownFile.
func (r Request) dataSet() (name, path string) {
	_, unknown := data.Lookup(r.Data)
	if info, err := os.Stat(r.Data); unknown != nil && err == nil && (info.IsDir() || info.Mode().IsRegular()) {
		return ownFile, r.Data
	}
	return r.Data, ""
}

// chosen returns the settings of the data set that the user chose. All rows of a file are test rows, unless the user
// says which are.
func (r Request) chosen() []string {
	name, path := r.dataSet()
	if name == "" {
		return nil
	}
	set := []string{"data.name=" + name}
	if path != "" {
		set = append(set, "data.path="+path)
	}
	if r.whole() {
		set = append(set, "data.test="+path)
		if !r.sets("train", "train.batch") {
			set = append(set, "train.batch=1") // of a training that does not happen: a file may have one row
		}
	}
	return set
}

// whole reports whether the score is that of all rows of a file.
func (r Request) whole() bool {
	_, path := r.dataSet()
	return path != "" && !r.sets("data", "data.path", "data.test", "data.test_share")
}

// data returns the settings of everything but the model. A worker is enough, except where the objective is a mean over
// workers.
func (r Request) data(head train.Saved) ([]string, error) {
	said := head.Metadata[modelfile.MetaData]
	var named struct{ Name string }
	_ = json.Unmarshal([]byte(said), &named) // other texts name nothing
	alone := []string{"topology={kind: complete, size: 1}"}
	name, _ := r.dataSet()
	switch {
	case r.sets("data", "data.name"):
		return slices.Concat(alone, r.chosen()), nil
	case name == "" && named.Name == ownFile && !r.sets("data.path"):
		return nil, advice.Usage(fmt.Errorf("evaluate: %s: its metadata name no path of its data", r.Model),
			"name the file with --data")
	case named.Name != "" && (name == "" || name == named.Name):
		if r.whole() || r.sets("data.test") {
			said = without(said, "test_share")
		}
		return slices.Concat(alone, []string{"data=" + said}, r.chosen()), nil
	case name != "":
		return slices.Concat(alone, r.chosen()), nil
	}
	peers, seed := head.Metadata[modelfile.MetaPeers], head.Metadata[modelfile.MetaSeed]
	if peers != "" && seed != "" && head.Metadata[modelfile.MetaModel] != "" {
		return []string{"topology={kind: complete, size: " + peers + "}", "seed=" + seed}, nil
	}
	return nil, advice.Usage(fmt.Errorf("evaluate: %s: its metadata name no data set", r.Model),
		"name one with --data, or give a run file")
}

// without returns a JSON object without a key.
func without(object, key string) string {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(object), &all) != nil {
		return object // configs names the mistake
	}
	delete(all, key)
	text, _ := json.Marshal(all) // of what has just been read
	return string(text)
}

// sets reports whether the user has set one of the keys. Other keys of a section complete what the metadata say.
func (r Request) sets(keys ...string) bool {
	return slices.ContainsFunc(r.Set, func(s string) bool {
		key, _, _ := strings.Cut(s, "=")
		return slices.Contains(keys, key)
	})
}

// unreadable explains why a model file could not be read.
func unreadable(command string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return advice.Usage(fmt.Errorf("%s: %w", command, err), "a run leaves model.safetensors in its folder")
	}
	hint := ""
	if state, ok := errors.AsType[*train.StateError](err); ok {
		hint = state.Hint()
	}
	return &FileError{fmt.Errorf("%s: %w", command, err), hint}
}

// named says which model and which data the metadata of a file name.
func named(head train.Saved) string {
	of, samples := head.Metadata[modelfile.MetaModel], head.Metadata[modelfile.MetaData]
	switch {
	case head.Flat:
		return "give the run.yaml of its run folder behind it"
	case of == "":
		return "its metadata name no model: give a run file, or --set model.name=..."
	case samples == "":
		return "its metadata name the model " + of
	}
	return fmt.Sprintf("its metadata name the model %s and the data %s: leave out run file, --data and --set", of, samples)
}

// Write prints the score.
func (s Score) Write(w io.Writer) error {
	t := human.AlignLeft(w)
	fmt.Fprintf(t, "model\t%s\n", s.Model)
	switch {
	case s.Rows != "":
		fmt.Fprintf(t, "data\t%s, all %s\n", s.Rows, human.Count(s.Samples, "row"))
	case s.Data != "":
		fmt.Fprintf(t, "data\t%s, %s of the test split\n", s.Data, human.Count(s.Samples, "sample"))
	}
	for _, v := range []struct {
		name  string
		value *float64
	}{{"loss", s.Loss}, {"accuracy", s.Accuracy}} {
		if v.value != nil {
			fmt.Fprintf(t, "%s\t%.4f\n", v.name, *v.value)
		}
	}
	if s.Picture != "" {
		fmt.Fprintf(t, "picture\t%s\n", s.Picture)
	}
	for _, note := range s.Notes {
		fmt.Fprintf(t, "note\t%s\n", note)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return writeClasses(w, s.Classes)
}

// assemble builds the run of a run file, or of none for "", with settings and the environment. The data are read as the
// model needs them that was trained on others.
func assemble(file string, set []string, trained *data.Trained) (*experiment.Run, error) {
	loaded, err := configs.Load(configs.Source{File: file, Env: os.Environ(), Set: set})
	if err != nil {
		return nil, err
	}
	return session.AssembleFor(trained, loaded)
}
