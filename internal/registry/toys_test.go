package registry

import (
	"bytes"
	"encoding/json"
	"go/format"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// A toy is an algorithm or a compressor that is not part of the program: exactly one
// file, one row and one vector. The tests add toys to the program by an overlay of the
// go command, so that the repository stays as it is.
type toy struct {
	file, text     string // Go, below the root of the module
	table, row     string // a file of this package, and the row that goes into its table
	vector, values string // below the folder of the vectors
}

// toys are all of them.
func toys() []string { return []string{"tracking.txtar", "maxsign.txtar"} }

func readToy(t *testing.T, name string) toy {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) != 3 {
		t.Fatalf("%s: %d parts, want a file, a row and a vector", name, len(archive.Files))
	}
	f := archive.Files
	if formatted, err := format.Source(f[0].Data); err != nil || !bytes.Equal(formatted, f[0].Data) {
		t.Errorf("%s: %s is not formatted: %v", name, f[0].Name, err)
	}
	return toy{f[0].Name, string(f[0].Data), f[1].Name, string(f[1].Data), f[2].Name, string(f[2].Data)}
}

// A bench is a program with toys.
type bench struct {
	t       *testing.T
	dir     string // of the files that replace or join those of the repository
	replace map[string]string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	if os.Getenv("PEER_TEST_ALL") == "" {
		t.Skip("compiles the program with toys, for minutes: PEER_TEST_ALL is not set; .ci/nightly sets it")
	}
	b := &bench{t: t, dir: t.TempDir(), replace: map[string]string{}}
	if err := os.CopyFS(b.vectors(), os.DirFS("../conformance/testdata/vectors")); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) vectors() string { return filepath.Join(b.dir, "vectors") }

// write writes a file below the folder of the bench and returns its path.
func (b *bench) write(name, text string) string {
	b.t.Helper()
	full := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return full
}

// overlay replaces a file of the repository, or adds one.
func (b *bench) overlay(name, text string) {
	b.t.Helper()
	real, err := filepath.Abs(filepath.Join("../..", name))
	if err != nil {
		b.t.Fatal(err)
	}
	b.replace[real] = b.write(path.Join("overlay", name), text)
}

func (b *bench) addFile(one toy) { b.overlay(one.file, one.text) }

// addRow puts the row at the end of the table.
func (b *bench) addRow(one toy) {
	b.t.Helper()
	text, err := os.ReadFile(one.table)
	if err != nil {
		b.t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\nvar ")
	table, after, closed := strings.Cut(rest, "\n}\n")
	if !found || !closed || !strings.Contains(table, "s = []") {
		b.t.Fatalf("%s: its first variable is no table", one.table)
	}
	before := strings.TrimSuffix(string(text), "\nvar "+rest)
	b.overlay("internal/registry/"+one.table, before+"\nvar "+table+"\n"+one.row+"}\n"+after)
}

func (b *bench) addVector(one toy) { b.write(path.Join("vectors", one.vector), one.values) }

// goes runs the go command with the overlay and returns its output.
func (b *bench) goes(command string, args ...string) (string, error) {
	b.t.Helper()
	text, err := json.Marshal(map[string]any{"Replace": b.replace})
	if err != nil {
		b.t.Fatal(err)
	}
	all := append([]string{command, "-overlay", b.write("overlay.json", string(text))}, args...)
	cmd := exec.Command("go", all...)
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "VECTORS="+b.vectors())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestToysNeedAFileARowAndAVector adds both toys. If a package needed to know of them, its
// tests would fail: they go through all rows.
func TestToysNeedAFileARowAndAVector(t *testing.T) {
	b := newBench(t)
	for _, name := range toys() {
		whole := readToy(t, name)
		b.addFile(whole)
		b.addRow(whole)
		b.addVector(whole)
	}
	for pkg, tests := range map[string]string{
		"./internal/registry":    "Rows",
		"./internal/conformance": ".",
		"./configs":              "Row|Effect|Schema|Reference|Comment|Preset",
		"./internal/experiment":  "TestEveryCompressor|TestSettingsOfCompressors",
		"./studies/defaults":     "TestEveryAlgorithm",
	} {
		if out, err := b.goes("test", pkg, "-run", tests); err != nil {
			t.Errorf("%s with the toys: %v\n%s", pkg, err, out)
		}
	}
	b.train(t)
}

// train builds the program with the toys and trains with them.
func (b *bench) train(t *testing.T) {
	t.Helper()
	peer := filepath.Join(b.dir, "peer")
	if out, err := b.goes("build", "-ldflags=-s -w", "-o", peer, "./cmd/peer"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, test := range []struct {
		set, want string
		fails     bool
	}{
		{"algorithm={name: tracking}", `"algorithm":"tracking","bits":32`, false},
		{"algorithm={name: naive, compressor: {name: maxsign, bucket: 64}}", `"algorithm":"naive","bits":1`, false},
		// Settings that the rows of the toys do not allow are refused.
		{"algorithm={name: tracking, codec: moniqua}", "tracking sends models by the codec full alone", true},
		{"algorithm={name: tracking, bits: 8}", "algorithm.bits: has no effect: the codec full sends 32 bits", true},
		{"algorithm={name: tracking, local_steps: 2}", "algorithm.local_steps: tracking is not known to allow it", true},
		{"algorithm={name: tracking, gamma: 0.5}", "algorithm.gamma: has no effect", true},
		{"algorithm={name: tracking, controller: {name: mqgrad}}", "tracking is not known to allow it: must be fix", true},
		{"algorithm={name: naive, compressor: {name: maxsign, bits: 2}}", "but algorithm.compressor.name is maxsign", true},
	} {
		cmd := exec.Command(peer, "sim", "--compute", "1ms", "--json", "--set", "train={rounds: 30, batch: 8}",
			"--set", "topology.size=4", "--set", "output.dir="+filepath.Join(b.dir, "runs"), "--set", test.set)
		out, err := cmd.CombinedOutput()
		if (err != nil) != test.fails || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: %v, want %q in\n%s", test.set, err, test.want, out)
		}
	}
}

// The tests notice a file without a row, and a row without a vector.
func TestToysThatLackAPartAreFound(t *testing.T) {
	for lacks, test := range map[string]struct {
		add  func(*bench, toy)
		want string
	}{
		"a row":    {(*bench).addVector, "a vector of what has no row"},
		"a vector": {(*bench).addRow, "no vector covers it"},
	} {
		b := newBench(t)
		for _, name := range toys() {
			b.addFile(readToy(t, name))
			test.add(b, readToy(t, name))
		}
		out, err := b.goes("test", "./internal/conformance", "-run", "TestConformanceCoversTheRows")
		if n := strings.Count(out, test.want); err == nil || n != len(toys()) {
			t.Errorf("without %s: %v, want %q for each toy in\n%s", lacks, err, test.want, out)
		}
	}
}
