package docs

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/sim"
	"gossiptrainer/model"
	"gossiptrainer/model/sample"
	"gossiptrainer/topology"
)

var checkpoints = map[string]decoder{"manifest": found, "state": found}

// A kept state stands for the algorithm state of the example.
type kept struct{}

func (kept) State(v *state.Visit) {
	round := 12
	state.Int(v, "round", &round, 0, 100)
	v.Floats("x", []float32{1, -0.5, 3})
}

// found reads the checkpoint of both examples and writes the same one.
func found(t *testing.T, d document, name string) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "round-00000012")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"manifest.json": []byte(d["manifest"]), "state.safetensors": d.bytes(t, "state")}
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(folder, file), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := checkpoint.Latest(dir)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "run", got.Run, "ring4")
	equal(t, "rank", got.Rank, 1)
	equal(t, "round", got.Round, 12)
	equal(t, "number of sections", len(got.Settings), 2)
	equal(t, "topology", string(got.Settings[1].JSON), `{"kind":"ring","size":4,"slack":1}`)
	var want state.Snapshot
	want.Save("machine", kept{})
	for i, tensor := range want.Tensors {
		equal(t, "name", got.State.Tensors[i].Name, tensor.Name)
		equal(t, "type", got.State.Tensors[i].Type, tensor.Type)
		same(t, tensor.Name, got.State.Tensors[i].Data, tensor.Data)
	}
	if err := checkpoint.Write(dir, got.Manifest, &want, 1); err != nil {
		t.Fatal(err)
	}
	for file, content := range files {
		made, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		same(t, file, made, content)
	}
}

// A row is a row of the tables of names.
type row struct {
	name, kind string
	pattern    *regexp.Regexp
	used       bool
}

var cells = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\w+) \\|")

// rows returns the rows of the tables of names.
func rows(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(formats, "checkpoints.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(string(text), "\n## Names\n")
	var all []row
	for _, cell := range cells.FindAllStringSubmatch(tables, -1) {
		pattern := strings.NewReplacer(regexp.QuoteMeta("<n>"), `\d+`, regexp.QuoteMeta("..."),
			`.+`).Replace(regexp.QuoteMeta(cell[1]))
		all = append(all, row{name: cell[1], kind: cell[2], pattern: regexp.MustCompile("^" + pattern + "$")})
	}
	return all
}

// carrying are settings of runs whose states together hold every name of the tables.
var carrying = [][]string{
	{"algorithm={name: dpsgd, controller: {name: mqgrad}}"},
	{"algorithm={name: dpsgd, controller: {name: oland-raj}}"},
	{"algorithm={name: d2, local_steps: 2}", "topology.slack=0.6"},
	{"algorithm={name: adpsgd}"},
	{"algorithm={name: choco, compressor: {name: alq, scaled: true}}"},
	{"algorithm={name: choco, controller: {name: oland-raj}, compressor: {name: alq, scaled: true}}"},
	{"algorithm={name: deepsqueeze, gamma: 0.5, compressor: {name: sign}}"},
	{"algorithm={name: dcd, compressor: {name: qsgd, bits: 8}}"},
	{"algorithm={name: ecd, compressor: {name: linear, mode: stochastic}}"},
	{"algorithm={name: allreduce, reduce: server, compressor: {name: alq}}"},
}

func TestStatesHaveTheNamesOfTheDocument(t *testing.T) {
	known := rows(t)
	meet := func(s *state.Snapshot) {
		for _, tensor := range s.Tensors {
			at := slices.IndexFunc(known, func(r row) bool {
				return r.pattern.MatchString(tensor.Name) &&
					r.kind == tensor.Type
			})
			if at < 0 {
				t.Errorf("%s of type %s is in no table of checkpoints.md", tensor.Name, tensor.Type)
				continue
			}
			known[at].used = true
		}
	}
	for _, set := range carrying {
		meet(endOf(t, set))
	}
	net, err := model.New(model.Spec{Name: "resnet", Shape: sample.Shape{H: 8, W: 8, C: 1}, Classes: 2, Batch: 1, Depth: 8,
		Norm: "batch"})
	if err != nil {
		t.Fatal(err)
	}
	var s state.Snapshot
	s.Save("oracle/model", net.(state.Keeper))
	meet(&s)
	for _, r := range known {
		if !r.used {
			t.Errorf("no state has the name %s of type %s", r.name, r.kind)
		}
	}
}

// endOf returns the state of worker 0 after a few rounds of a run.
func endOf(t *testing.T, set []string) *state.Snapshot {
	t.Helper()
	base := []string{"train.rounds=4", "topology.size=4", "model={name: quadratic, dim: 20}"}
	loaded, err := configs.Load(configs.Source{Set: append(base, set...)})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	workers, err := build.All(run)
	if err != nil {
		t.Fatal(err)
	}
	_, err = sim.Run(context.Background(), build.Tasks(workers), sim.Options{
		Compute: func(topology.Rank, int) time.Duration { return time.Millisecond },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := new(state.Snapshot)
	workers[0].Save(s)
	return s
}
