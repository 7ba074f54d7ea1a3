package conformance

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/internal/registry"
	"gossiptrainer/topology"
)

// A coverage names the test that compares the files of a kind with the code.
type coverage struct{ kind, test string }

var kinds = []coverage{
	{"topology", "TestConformanceTopology"},
	{"prng", "TestConformancePRNG"},
	{"hash", "TestConformanceHash"},
	{"packing", "TestConformancePacking"},
	{"codec", "TestConformanceCodec"},
	{"theta", "TestConformanceTheta"},
	{"run", "TestConformanceRuns"},
	{"quantizer", "TestConformanceQuantizer"},
	{"levels", "TestConformanceLevels"},
	{"controller", "TestConformanceController"},
	{"behaviour", "TestConformanceBehaviour"},
}

// elsewhere lists rows of package registry without a vector of their own, with the reason.
var elsewhere = map[string]string{
	"full":   "C(z) is z",
	"nuqsgd": "it is levels with a table that no vector gives, and vectors of levels have such tables",
	"alq":    "it is levels with a table that TestConformanceLevels computes",
	"alqn":   "as alq, of one distribution",
	"alqg":   "it is levels with a table that TestConformanceLevels computes",
	"alqgn":  "as alqg, of one distribution",
	"amq":    "it is levels with a table that TestConformanceLevels computes",
	"amqn":   "as amq, of one distribution",
}

// Every vector file is of a kind in the table, and its test exists.
func TestConformanceCoverage(t *testing.T) {
	err := filepath.WalkDir(Dir(), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() != "README.md" {
			checkKind(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := testsHere(t)
	for _, row := range kinds {
		if !tests[row.test] {
			t.Errorf("%s: there is no %s", row.kind, row.test)
		}
	}
}

// drawnAnew lists the kinds of graphs without a vector: their draws are ours. Package topology tests their properties.
var drawnAnew = []topology.Kind{topology.RandomRegular, topology.SmallWorld, topology.ErdosRenyi}

// Every kind of graph has a vector.
func TestConformanceCoversTheKinds(t *testing.T) {
	var schedules struct {
		Cases []struct{ Topology topologySpec }
	}
	Load2(t, "schedule.json", &schedules)
	covered := slices.Clone(drawnAnew)
	for _, c := range schedules.Cases {
		covered = append(covered, c.Topology.Name)
	}
	files, _ := filepath.Glob(filepath.Join(Dir(), "topology*.json"))
	for _, name := range files {
		var graphs struct {
			Cases []struct{ Topology topologySpec }
		}
		Load(t, filepath.Base(name), &graphs)
		for _, c := range graphs.Cases {
			covered = append(covered, c.Topology.Name)
		}
	}
	for _, kind := range topology.Kinds() {
		if !slices.Contains(covered, kind) {
			t.Errorf("%s: no vector covers it", kind)
		}
	}
}

// Every row of package registry has a vector, and every vector is of a row.
func TestConformanceCoversTheRows(t *testing.T) {
	wanted, covered := map[string]bool{}, map[string]bool{}
	for _, a := range registry.Algorithms() {
		for _, name := range varieties(a) {
			wanted[name] = true
		}
	}
	for _, name := range registry.CompressorNames("") {
		wanted[name] = true
	}
	for _, run := range append(loadRuns(t), loadRuns2(t)...) {
		if _, ok := run.Algorithm.row(); !ok || !run.Problem.known() {
			t.Errorf("run %s: unknown algorithm %q or problem %q", run.Name, run.Algorithm.Name, run.Problem.Kind)
		}
		covered[run.Algorithm.variety()] = true
		if c := run.Algorithm.Compressor; c != nil {
			covered[c.Name] = true
		}
	}
	for _, c := range loadQuantizers(t) {
		covered[c.Compressor.Name] = true
	}
	for what := range wanted {
		if elsewhere[what] == "" && !covered[what] {
			t.Errorf("%s: no vector covers it: put one into runs or quantizers. For an algorithm, "+
				"go test ./internal/conformance -run MadeRuns -update %q makes one", what, what)
		}
	}
	for what := range covered {
		if !wanted[what] {
			t.Errorf("%s: a vector of what has no row", what)
		}
	}
	for what := range elsewhere {
		if !wanted[what] || covered[what] {
			t.Errorf("elsewhere: %s has a vector, or no row: remove it", what)
		}
	}
}

// checkKind fails if the kind of a file is unknown, or if the file lies where the tests of its kind do not look.
func checkKind(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Format int
		Kind   string
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Errorf("%s: not a vector file: %v", path, err)
		return
	}
	known := slices.ContainsFunc(kinds, func(k coverage) bool { return k.kind == file.Kind })
	if !known || file.Format != 1 {
		t.Errorf("%s: unknown kind %q of format %d", path, file.Kind, file.Format)
		return
	}
	in, name := filepath.Split(path)
	read := name == file.Kind+".json"
	switch file.Kind {
	case "run":
		read = filepath.Base(in) == "runs"
	case "topology":
		read = strings.HasPrefix(name, "topology")
	case "quantizer":
		read = name == "quantizers.json" || filepath.Base(in) == "quantizers"
	}
	if !read {
		t.Errorf("%s: no test reads this file", path)
	}
}

// testsHere returns the names of the test functions of this package.
func testsHere(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
