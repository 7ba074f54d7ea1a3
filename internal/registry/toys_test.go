package registry

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// toys are things that are not part of the program, by the section of docs/extending.md with their recipe. The archive
// of a toy has its new files, and edits of others in the form of a patch.
var toys = []struct{ section, archive, name string }{
	{"Algorithm", "algorithm.txtar", "twosteps"},
	{"Compressor", "compressor.txtar", "maxsign"},
	{"Kind of graph", "kind.txtar", "wheel"},
	{"Key", "key.txtar", "clip_value"},
	{"Command", "command.txtar", "kinds"},
	{"Model", "model.txtar", "funnel"},
	{"Data format", "format.txtar", "arff"},
}

// A house is a copy of the repository.
type house struct {
	t   *testing.T
	dir string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	if os.Getenv("PEER_TEST_ALL") == "" {
		t.Skip("compiles the program with toys, for minutes: PEER_TEST_ALL is not set; .ci/nightly sets it")
	}
	h := &house{t, t.TempDir()}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && slices.Contains([]string{".git", "node_modules", "dist"}, entry.Name()) {
			return fs.SkipDir
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		info, _ := entry.Info()
		if err == nil {
			h.write(strings.TrimPrefix(filepath.ToSlash(path), "../../"), text, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) write(name string, text []byte, mode fs.FileMode) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, text, mode); err != nil {
		h.t.Fatal(err)
	}
}

// edit is the name of a part that changes a file.
var edit = regexp.MustCompile(`^edit (\S+)$`)

// add adds the parts of a toy that are wanted, and returns the files it touches.
func (h *house) add(archive string, want func(part string) bool) (touched []string) {
	h.t.Helper()
	toy, err := txtar.ParseFile(filepath.Join("testdata", archive))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, part := range toy.Files {
		name, text := part.Name, part.Data
		if !want(name) {
			continue
		}
		if m := edit.FindStringSubmatch(name); m != nil {
			name = m[1]
			text = h.patched(name, string(part.Data))
		}
		h.write(name, text, 0o644)
		touched = append(touched, name)
		if filepath.Ext(name) == ".go" {
			h.run("gofmt", "-w", name)
		}
	}
	return touched
}

// patched returns a file with a change. The lines that begin with a blank or a minus are there once, and give way to
// those that begin with a blank or a plus.
func (h *house) patched(name, patch string) []byte {
	h.t.Helper()
	file, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	var before, after strings.Builder
	for line := range strings.Lines(patch) {
		if line[0] != '+' {
			before.WriteString(line[1:])
		}
		if line[0] != '-' {
			after.WriteString(line[1:])
		}
	}
	if n := strings.Count(string(file), before.String()); n != 1 {
		h.t.Fatalf("%s: %d places with\n%s", name, n, before.String())
	}
	return []byte(strings.Replace(string(file), before.String(), after.String(), 1))
}

// run runs a command in the house. A command that fails fails the test.
func (h *house) run(name string, args ...string) string {
	h.t.Helper()
	out, err := h.try(name, args...)
	if err != nil {
		h.t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

func (h *house) try(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = h.dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "PEER_TEST_ALL=") })
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// recipe returns the section of a toy and its commands.
func recipe(t *testing.T, section string) (text string, commands []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/extending.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "\n## "+section+"\n")
	if !found {
		t.Fatalf("docs/extending.md has no section %s", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	_, block, _ := strings.Cut(text, "```sh source\n")
	block, _, _ = strings.Cut(block, "```")
	return text, strings.Split(strings.TrimSpace(block), "\n")
}

// TestToysFollowTheRecipes adds all toys to one copy of the sources. Each recipe names the files of its toy. The test
// runs the commands of the recipes and lint, and trains with the toys.
func TestToysFollowTheRecipes(t *testing.T) {
	h := newHouse(t)
	var writes, checks []string
	for _, toy := range toys {
		text, commands := recipe(t, toy.section)
		lines := strings.NewReplacer("/"+toy.name, "/NAME", "_"+toy.name, "_NAME", "."+toy.name, ".NAME")
		for _, file := range h.add(toy.archive, func(string) bool { return true }) {
			if toy.section == "Data format" {
				file = strings.Replace(file, "toy.arff", "NAME.NAME", 1)
			}
			if !strings.Contains(text, "`"+lines.Replace(file)+"`") {
				t.Errorf("the recipe %s does not name %s", toy.section, lines.Replace(file))
			}
		}
		for _, command := range commands {
			command = strings.NewReplacer("NAME.NAME", "toy.arff", "NAME", toy.name).Replace(command)
			list := &checks
			if strings.Contains(command, "-update") {
				list = &writes
			}
			if !slices.Contains(*list, command) {
				*list = append(*list, command)
			}
		}
	}
	if t.Failed() {
		return
	}
	for _, command := range append(writes, checks...) {
		t.Log(command)
		h.run("sh", "-c", command)
	}
	h.run("sh", "-c", `test -z "$(gofmt -l . | tee /dev/stderr)" && go vet ./... && go test ./internal/lint ./internal/docs`)
	h.run("go", "build", "-o", "peer-with-toys", "./cmd/peer")
	trainWithToys(h)
}

func trainWithToys(h *house) {
	h.t.Helper()
	for _, test := range []struct{ set, want string }{
		{"algorithm={name: twosteps}", `"algorithm":"twosteps","bits":32`},
		{"algorithm={name: naive, compressor: {name: maxsign, bucket: 64}}", `"algorithm":"naive","bits":1`},
		{"topology.kind=wheel", `"digest":`},
		{"train.optimizer.clip_value=0.001", `"digest":`},
		{"model={name: funnel}", `"digest":`},
		{"data={name: file, path: internal/data/testdata/toy.arff}", `"digest":`},
		// Settings that the rows of the toys do not allow are refused.
		{"algorithm={name: twosteps, codec: moniqua}", "twosteps sends models by the codec full alone"},
		{"algorithm={name: twosteps, bits: 8}", "algorithm.bits: has no effect: the codec full sends 32 bits"},
		{"algorithm={name: twosteps, local_steps: 2}", "algorithm.local_steps: twosteps is not known to allow it"},
		{"algorithm={name: twosteps, controller: {name: mqgrad}}", "twosteps is not known to allow it: must be fix"},
		{"algorithm={name: naive, compressor: {name: maxsign, bits: 2}}", "but algorithm.compressor.name is maxsign"},
		{"topology={kind: wheel, rows: 2}", "it is a setting of torus, but topology.kind is wheel"},
		{"model={name: funnel, depth: 20}", "it is a setting of resnet, but model.name is funnel"},
	} {
		simulated := h.peer("sim", test.set)
		if !strings.Contains(simulated, test.want) {
			h.t.Errorf("%s: want %q in\n%s", test.set, test.want, simulated)
		}
		if strings.Contains(test.set, "twosteps}") || strings.Contains(test.set, "clip_value") {
			if one, other := digest(h.t, simulated), digest(h.t, h.peer("lab", test.set)); one != other {
				h.t.Errorf("%s: digest %s in the simulator, %s with real peers", test.set, one, other)
			}
		}
	}
	const key = "train.optimizer.clip_value="
	if digest(h.t, h.peer("sim", key+"0")) == digest(h.t, h.peer("sim", key+"0.001")) {
		h.t.Error("clip_value changes no result")
	}
	if kinds := h.run("./peer-with-toys", "kinds"); !strings.Contains(kinds, "wheel\n") {
		h.t.Errorf("peer kinds prints\n%s", kinds)
	}
}

// peer trains four workers for a moment, and returns what the command prints.
func (h *house) peer(command, set string) string {
	h.t.Helper()
	out, err := h.try("./peer-with-toys", command, "--json", "--quiet", "--set", "train={rounds: 30, batch: 8}",
		"--set", "topology.size=4", "--set", "output.dir=runs-with-toys", "--set", set)
	if err != nil && !strings.HasPrefix(out, "peer: ") {
		h.t.Errorf("%s: %v\n%s", set, err, out)
	}
	return out
}

func digest(t *testing.T, output string) string {
	t.Helper()
	var summary struct{ Digest string }
	if err := json.Unmarshal([]byte(output), &summary); err != nil || summary.Digest == "" {
		t.Errorf("no digest (%v) in\n%s", err, output)
	}
	return summary.Digest
}

// The tests notice a file without a row, and a row without a vector.
func TestToysThatLackAPartAreFound(t *testing.T) {
	for lacks, test := range map[string]struct{ part, want string }{
		"a row":    {"edit ", "a vector of what has no row"},
		"a vector": {"internal/conformance/testdata/vectors/", "no vector covers it"},
	} {
		h := newHouse(t)
		for _, toy := range toys[:2] {
			h.add(toy.archive, func(part string) bool { return !strings.HasPrefix(part, test.part) })
		}
		out, err := h.try("go", "test", "./internal/conformance", "-run", "TestConformanceCoversTheRows")
		if n := strings.Count(out, test.want); err == nil || n != 2 {
			t.Errorf("without %s: %v, want %q for two toys in\n%s", lacks, err, test.want, out)
		}
	}
}
