package conformance

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the vectors hold and which test holds it against the code. A row without
// a test is not yet covered; it says what is missing.
type coverage struct {
	what, test, missing string
}

var (
	kinds = []coverage{
		{"topology", "TestConformanceTopology", ""},
		{"prng", "TestConformancePRNG", ""},
		{"hash", "TestConformanceHash", ""},
		{"packing", "TestConformancePacking", ""},
		{"codec", "TestConformanceCodec", ""},
		{"theta", "TestConformanceTheta", ""},
		{"run", "TestConformanceRuns", ""},
		{"quantizer", "TestConformanceQuantizer", ""},
		{"levels", "TestConformanceLevels", ""},
		{"controller", "TestConformanceController", ""},
		{"behaviour", "TestConformanceBehaviour", ""},
	}
	algorithms = []coverage{
		{"dpsgd", "TestConformanceRuns", ""},
		{"allreduce", "TestConformanceRuns", ""},
		{"moniqua", "TestConformanceRuns", ""},
		{"moniqua with verification", "TestConformanceRuns", ""},
		{"d2", "TestConformanceRuns", ""},
		{"d2 with moniqua", "TestConformanceRuns", ""},
		{"d2 with moniqua with verification", "TestConformanceRuns", ""},
		{"adpsgd", "TestConformancePairwise", ""},
		{"adpsgd with moniqua", "TestConformancePairwise", ""},
		{"adpsgd with moniqua with verification", "TestConformancePairwise", ""},
		{"choco", "TestConformanceRuns", ""},
		{"deepsqueeze", "TestConformanceRuns", ""},
		{"dcd", "TestConformanceRuns", ""},
		{"ecd", "TestConformanceRuns", ""},
		{"naive", "TestConformanceRuns", ""},
		{"allreduce with a compressor", "TestConformanceRuns", ""},
		{"allreduce with error feedback", "TestConformanceRuns", ""},
		{"allreduce with a server", "TestConformanceRuns", ""},
	}
	compressors = []coverage{
		{"full", "TestConformanceRuns", ""},
		{"linear", "TestConformanceQuantizer", ""},
		{"minmax", "TestConformanceQuantizer", ""},
		{"qsgd", "TestConformanceQuantizer", ""},
		{"terngrad", "TestConformanceQuantizer", ""},
		{"nuqsgd", "TestConformanceQuantizer", ""},
		{"levels", "TestConformanceQuantizer", ""},
		{"orq", "TestConformanceQuantizer", ""},
		{"linear_s", "TestConformanceQuantizer", ""},
		{"bingrad_pb", "TestConformanceQuantizer", ""},
		{"bingrad_b", "TestConformanceQuantizer", ""},
		{"sign", "TestConformanceQuantizer", ""},
		{"topk", "TestConformanceQuantizer", ""},
		{"randomk", "TestConformanceQuantizer", ""},
	}
)

// find returns the row of table for what.
func find(table []coverage, what string) (row coverage, ok bool) {
	for _, row := range table {
		if row.what == what {
			return row, true
		}
	}
	return coverage{}, false
}

// Every vector file is of a kind in the tables, every run of an algorithm and a
// compressor in them, and the tests that they name exist.
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
	for _, run := range loadRuns(t) {
		if _, ok := find(algorithms, run.Algorithm.variety()); !ok {
			t.Errorf("run %s: unknown algorithm %q", run.Name, run.Algorithm.variety())
		}
		if c := run.Algorithm.Compressor; c != nil {
			if _, ok := find(compressors, c.Name); !ok {
				t.Errorf("run %s: unknown compressor %q", run.Name, c.Name)
			}
		}
		if !run.Problem.known() {
			t.Errorf("run %s: unknown problem %q", run.Name, run.Problem.Kind)
		}
	}
	tests := testsHere(t)
	for _, table := range [][]coverage{kinds, algorithms, compressors} {
		for _, row := range table {
			switch {
			case row.test == "" && row.missing == "":
				t.Errorf("%s: neither covered nor missing", row.what)
			case row.test == "":
				t.Logf("not yet covered: %s: needs %s", row.what, row.missing)
			case !tests[row.test]:
				t.Errorf("%s: there is no %s", row.what, row.test)
			}
		}
	}
}

// checkKind fails if the file is of a kind that is not known, or lies where the
// tests of its kind do not look.
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
	row, ok := find(kinds, file.Kind)
	if !ok || file.Format != 1 {
		t.Errorf("%s: unknown kind %q of format %d", path, file.Kind, file.Format)
		return
	}
	in, name := filepath.Split(path)
	read := name == file.Kind+".json"
	switch file.Kind {
	case "run":
		read = filepath.Base(in) == "runs"
	case "quantizer":
		read = name == "quantizers.json"
	}
	if row.test != "" && !read {
		t.Errorf("%s: %s does not read this file", path, row.test)
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
