package conformance

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/internal/registry"
	"gossiptrainer/topology"
)

var update = flag.String("update", "", "algorithm whose run `NAME` TestMadeRuns makes by the program itself")

// madeBy marks a file of the program itself.
const madeBy = "the program itself: this run guards against changes, and is no independent reference"

// inputs are what a file in runs says about a run before it begins.
type inputs struct {
	Format    int             `json:"format"`
	Kind      string          `json:"kind"`
	Name      string          `json:"name"`
	MadeBy    string          `json:"made_by"`
	Problem   json.RawMessage `json:"problem"`
	Topology  json.RawMessage `json:"topology"`
	Algorithm json.RawMessage `json:"algorithm"`
	X0        json.RawMessage `json:"x0"`
	StepSize  json.RawMessage `json:"step_size"`
	Steps     int             `json:"steps"`
	Tolerance json.RawMessage `json:"tolerance"`
}

// Without a flag, the runs that the program makes of known rows hold. With it,
//
//	go test ./internal/conformance -run MadeRuns -update NAME
//
// makes runs/NAME.json for a new algorithm. NAME is what TestConformanceCoversTheRows calls it. After a change of the
// file's settings, the same command makes its results again. It does not touch independent references.
func TestMadeRuns(t *testing.T) {
	if *update != "" {
		name, err := updateRun(t, Dir(), *update)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("made %s", name)
		return
	}
	for _, name := range []string{"dpsgd with moniqua", "gt", "gt with moniqua", "kgt", "choco", "dcd", "naive",
		"allreduce by server with error feedback"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "run.json")
			for range 2 { // the second time from the file itself
				if err := makeRun(t, file, name); err != nil {
					t.Fatal(err)
				}
				var made runFile
				load(t, file, &made)
				checkRun(t, made)
				if made.MadeBy != madeBy || made.Algorithm.variety() != name {
					t.Errorf("the file is made by %q, for %q", made.MadeBy, made.Algorithm.variety())
				}
			}
		})
	}
}

func TestMadeRunsReplaceNoReference(t *testing.T) {
	for name, want := range map[string]string{
		"choco": "choco: an independent reference covers it: runs/choco_bingrad.json",
		"chico": "chico: no row of package registry has this name",
	} {
		dir := t.TempDir()
		if made, err := updateRun(t, dir, name); err == nil || err.Error() != want {
			t.Errorf("%s: made %q, error %v, want %s", name, made, err, want)
		}
		if files, err := filepath.Glob(filepath.Join(dir, "*", "*")); err != nil || len(files) > 0 {
			t.Errorf("%s: wrote %v, %v", name, files, err)
		}
	}
	file := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(file, []byte(`{"format": 1, "kind": "run", "name": "x"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := makeRun(t, file, "choco"); err == nil || !strings.Contains(err.Error(), "independent reference") {
		t.Errorf("a file without made_by is replaced: %v", err)
	}
}

// updateRun makes the run of a variety below dir and returns the name of its file. It refuses one that an independent
// reference covers.
func updateRun(t *testing.T, dir, name string) (string, error) {
	t.Helper()
	for _, run := range append(loadRuns(t), loadRuns2(t)...) {
		if run.MadeBy == "" && run.Algorithm.variety() == name {
			return "", fmt.Errorf("%s: an independent reference covers it: runs/%s.json", name, run.Name)
		}
	}
	if _, err := settingsOf(name); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "runs", strings.ReplaceAll(name, " ", "_")+".json")
	return file, makeRun(t, file, name)
}

// makeRun writes the run of a variety. The settings are those of the file, if it is there. On an error of the run the
// file has the settings and no results.
func makeRun(t *testing.T, file, name string) error {
	t.Helper()
	var in inputs
	text, err := os.ReadFile(file)
	switch {
	case os.IsNotExist(err):
		if in, err = newInputs(t, file, name); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(text, &in); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if in.MadeBy == "" {
			return fmt.Errorf("%s is an independent reference: give the run another name", file)
		}
	}
	if err := write(file, in); err != nil {
		return err
	}
	var settings runFile
	load(t, file, &settings)
	r := newRun(t, settings)
	if err := r.advance(); err != nil {
		return fmt.Errorf("%w: change algorithm, step_size or steps in %s, and run the command again", err, file)
	}
	start, end := r.Problem.loss(len(r.rows), r.mean(0)), r.Problem.loss(len(r.rows), r.mean(r.Steps))
	if !(end < start) {
		return fmt.Errorf("%s does not train: the loss of the mean is %.4g at the start and %.4g at the end: change "+
			"algorithm, step_size or steps in %s, and run the command again", name, start, end, file)
	}
	return write(file, struct {
		inputs
		results
	}{in, r.measured(t)})
}

func write(file string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// measured returns the results of a finished run.
func (r *run) measured(t *testing.T) results {
	t.Helper()
	mean := r.mean(r.Steps)
	made := results{
		BytesSent: r.bytes, FinalLoss: r.Problem.loss(len(r.rows), mean),
		FinalSpread: farthest(r.models[r.Steps], func(int) []float64 { return mean }),
	}
	for _, step := range slices.Compact([]int{0, min(1, r.Steps), r.Steps / 2, r.Steps}) {
		at := modelsAt{Step: step}
		for _, x := range r.models[step] {
			at.X = append(at.X, widened(x))
		}
		made.Checkpoints = append(made.Checkpoints, at)
		made.Mean = append(made.Mean, meanAt{step, r.mean(step)})
	}
	if r.Algorithm.Moniqua == nil {
		return made
	}
	peers := make([]topology.Rank, len(r.rows))
	for i := range peers {
		peers[i] = topology.Rank(i)
	}
	for lane := range r.sent {
		for k := r.period() - 1; k < r.Steps && k < 3*r.period(); k += r.period() {
			made.Messages = append(made.Messages, r.message(t, k, lane, peers))
		}
	}
	made.Errors, made.Gaps = r.decodeErrors(t), r.gaps()
	made.Gap = made.Gaps[0]
	return made
}

// newInputs returns the settings of a new run: those of a known one of the same kind, with another algorithm.
func newInputs(t *testing.T, file, name string) (in inputs, err error) {
	t.Helper()
	settings, err := settingsOf(name)
	if err != nil {
		return in, err
	}
	load(t, filepath.Join("testdata", "vectors", "runs", "dpsgd_cta.json"), &in)
	in.Name, in.MadeBy = strings.TrimSuffix(filepath.Base(file), ".json"), madeBy
	in.Algorithm, err = json.Marshal(settings)
	return in, err
}

// settingsOf returns settings of algorithm with which a variety of a row trains.
func settingsOf(name string) (map[string]any, error) {
	rows := registry.Algorithms()
	at := slices.IndexFunc(rows, func(row registry.Algorithm) bool {
		return slices.Contains(varieties(row), name)
	})
	if at < 0 {
		return nil, fmt.Errorf("%s: no row of package registry has this name", name)
	}
	row := rows[at]
	if row.Asynchronous() {
		return nil, fmt.Errorf("%s mixes in pairs: write its run by hand, with events like those of runs/adpsgd.json", name)
	}
	settings := map[string]any{"name": row.Name}
	if strings.HasSuffix(name, " with moniqua") {
		settings["moniqua"] = map[string]any{"levels": 256, "mode": "dither", "theta": 4, "theta2": 16, "seed": 1}
		if row.Name == "dpsgd" {
			settings["name"] = "moniqua"
		}
	}
	switch row.Sends.Compressor {
	case registry.Contraction:
		settings["gamma"], settings["compressor"] = 0.3, map[string]any{"name": "topk", "k": 3}
	case registry.NoCompressor:
	default:
		settings["compressor"] = map[string]any{"name": "qsgd", "bits": 6, "norm": "linf"}
	}
	if row.Form == "server" {
		settings["server"] = "double"
	}
	if strings.HasSuffix(name, " with error feedback") {
		settings["error_feedback"] = true
		if row.Sends.Feedback == registry.UnbiasedReturn { // also a contraction
			settings["compressor"] = map[string]any{"name": "minmax", "bits": 4}
		}
	}
	return settings, nil
}
