package lint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers lists the packages from the bottom up. A package imports only layers
// below its own, its own sub-packages, and what siblings allows.
var layers = [][]string{
	{"internal/safefile", "internal/rng", "internal/kernel", "internal/vec", "gossip/state",
		"internal/safetensors", "internal/settings", "topology", "model/sample", "internal/record",
		"internal/budget", "internal/human", "internal/stats"},
	// a sub-package with a row of its own stands before its parent
	{"quant/levels", "quant/controller", "quant", "internal/data", "model", "internal/shape", "internal/cost",
		"internal/fault", "internal/explain", "python"},
	{"algos", "moniqua"},
	{"gossip"},
	{"internal/wire", "internal/journal", "internal/checkpoint", "internal/train", "internal/work"},
	{"internal/machine", "internal/sim", "internal/bridge", "node/socket", "node/identity",
		"node/handshake", "node/join", "node/telemetry", "node/link",
		"node/vector", "node/members", "node"},
	{"internal/registry", "."},
	{"configs", "internal/shards", "internal/score", "internal/modelfile", "internal/bits", "internal/modulo",
		"internal/compress", "internal/experiment", "internal/build", "internal/forecast", "internal/summary",
		"internal/membership", "internal/fleet", "internal/cells", "internal/chart",
		"internal/report"},
	{"app/advice", "app/screen"},
	{"app/runfolder", "app/describe", "app/status", "app/script"},
	{"app/worker", "app/export"},
	{"app/session"},
	{"app/models", "app/dash"},
	{"app/seat"},
	{"app/peer"},
	{"app/doctor"},
	{"app/setup"},
	{"lab/rehearse", "lab/study"},
	{"lab/simulate", "lab/compare", "lab/views"},
	{"lab/bench", "lab/reproduce"},
	{"lab/reports", "lab/plan"},
	{"cmd/peer"},
}

// coreLayers are without sockets, clocks, goroutines, logs and state.
const coreLayers = 5

// siblings are the arrows within a layer.
var siblings = map[string][]string{
	"internal/kernel":   {"internal/rng"},    // its random numbers
	"internal/vec":      {"internal/kernel"}, // its loops in assembly
	"gossip/state":      {"internal/vec"},    // a snapshot holds vectors as bytes
	"internal/settings": {"internal/human"},  // numbers of tensors
	"topology":          {"internal/rng"},    // graphs that are drawn
	"internal/stats":    {"internal/human"},  // intervals in words
	"internal/budget":   {"internal/human"},  // sizes
	// a run folder may hold a fifo of another user; digests of models
	"internal/record":  {"internal/safefile", "internal/vec"},
	"quant":            {"quant/levels"},    // its tables are fitted there
	"moniqua":          {"algos"},           // it implements algos.Codec
	"internal/journal": {"internal/wire"},   // its records are frames
	"internal/work":    {"internal/wire"},   // a task names the coder of its payloads
	"internal/shards":  {"configs"},         // it reads the data that a run file names
	"internal/score":   {"internal/shards"}, // it evaluates on their test rows
	// files, bits, codecs and compressors of a run, which experiment puts together
	"internal/modelfile": {"configs", "internal/shards", "internal/score"},
	"internal/bits":      {"configs"},
	"internal/modulo":    {"configs", "internal/bits"},
	"internal/compress":  {"configs"},
	"internal/experiment": {"configs", "internal/shards", "internal/score", "internal/modelfile", "internal/bits",
		"internal/modulo", "internal/compress"},
	// what a run becomes: workers, a forecast, a summary
	"internal/build": {"configs", "internal/shards", "internal/score", "internal/bits", "internal/modulo",
		"internal/experiment"},
	"internal/forecast":   {"configs", "internal/bits", "internal/modulo", "internal/experiment"},
	"internal/summary":    {"internal/score", "internal/experiment"},
	"internal/membership": {"configs", "internal/modulo", "internal/experiment", "internal/build"}, // workers of views
	// it draws figures of runs
	"internal/report": {"internal/chart"},
	// the rooms of node: none imports a parent
	"node/handshake": {"node/socket"}, // the two ends of an encryption share a session
	"node/join":      {"node/socket", "node/handshake"},
	"node/telemetry": {"node/socket", "node/handshake"},
	"node/link":      {"node/socket", "node/handshake"},
	"node/vector":    {"node/socket", "node/handshake"},
	"node/members":   {"node/socket", "node/handshake", "node/join"},
	"node": {"internal/machine", "node/socket", "node/identity", "node/handshake",
		"node/join", "node/telemetry", "node/link", "node/vector", "node/members"},
}

// outside names packages of tests and measurements alone: they may import anything, and no
// product code imports them.
var outside = []string{"examples", "internal/conformance", "internal/docs", "internal/lint", "internal/proptest",
	"internal/witness", "release", "studies", "test"}

// onePlace are packages of others that one of ours may import, as the idea has one place.
var onePlace = map[string]string{
	"gonum.org/v1/gonum/stat/distuv": "internal/stats", // intervals
}

const module = "gossiptrainer/"

// home returns the package of the layer table to which pkg belongs, itself or
// the one whose sub-package it is, and its layer, −1 if there is none.
func home(pkg string) (string, int) {
	for layer, names := range layers {
		for _, name := range names {
			if pkg == name || strings.HasPrefix(pkg, name+"/") {
				return name, layer
			}
		}
	}
	return pkg, -1
}

func inCore(pkg string) bool {
	_, layer := home(pkg)
	return layer >= 0 && layer < coreLayers
}

func isOutside(pkg string) bool {
	return slices.ContainsFunc(outside, func(name string) bool { return pkg == name || strings.HasPrefix(pkg, name+"/") })
}

// arrows finds imports that point upwards or sideways.
func arrows(s source) []string {
	if s.isTest() || isOutside(s.pkg()) {
		return nil
	}
	from, layer := home(s.pkg())
	if layer < 0 {
		return []string{s.at(s.file.Package,
			"package %s is in no layer: give it a place in layers, so that it is clear what it may import", s.pkg())}
	}
	var found []string
	for _, spec := range s.file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		name, ours := strings.CutPrefix(imported, module)
		if place := onePlace[imported]; place != "" && place != from {
			found = append(found, s.at(spec.Pos(), "%s imports %s: only %s may", from, imported, place))
		}
		if !ours {
			continue
		}
		to, target := home(name)
		if from == to || target >= 0 && target < layer || slices.Contains(siblings[from], to) {
			continue
		}
		reason := fmt.Sprintf("layer %d may import only what stands below it, and %s stands in layer %d", layer, to, target)
		if target < 0 {
			reason = "product code may not depend on a package outside the layers"
		}
		found = append(found, s.at(spec.Pos(), "%s imports %s: %s", from, name, reason))
	}
	return found
}

func TestPackagesImportOnlyWhatStandsBelow(t *testing.T) { check(t, arrows) }

func TestArrowsAreFound(t *testing.T) {
	imports := func(name string) string { return "package p\nimport _ \"gossiptrainer/" + name + "\"\n" }
	expect(t, arrows, "gossip/x.go", imports("algos"), "")
	expect(t, arrows, "internal/data/x.go", imports("internal/data/glyphs"), "")
	expect(t, arrows, "internal/data/glyphs/x.go", imports("internal/rng"), "")
	expect(t, arrows, "moniqua/x.go", imports("algos"), "")
	expect(t, arrows, "gossip/x_test.go", imports("node"), "")
	expect(t, arrows, "quant/x.go", imports("quant/levels"), "")
	expect(t, arrows, "quant/levels/x.go", imports("quant"), "layer 1")
	expect(t, arrows, "algos/x.go", imports("moniqua"), "layer 2")
	expect(t, arrows, "internal/sim/x.go", imports("node"), "layer 5")
	expect(t, arrows, "topology/x.go", imports("gossip"), "stands in layer 3")
	expect(t, arrows, "internal/wire/x.go", imports("internal/lint"), "outside the layers")
	expect(t, arrows, "gadgets/x.go", imports("algos"), "is in no layer")
	student := "package p\nimport _ \"gonum.org/v1/gonum/stat/distuv\"\n"
	expect(t, arrows, "internal/stats/x.go", student, "")
	expect(t, arrows, "lab/reproduce/x.go", student, "only internal/stats may")
}

// pictures are packages that a peer on a machine without a screen does not carry.
var pictures = []string{"gonum.org/v1/plot", "golang.org/x/image"}

// reached returns every package that pkg imports, directly or by way of others of ours.
func (t tree) reached(pkg string) map[string]bool {
	all := map[string]bool{}
	for _, s := range t.sources {
		if s.pkg() != pkg || s.isTest() {
			continue
		}
		for _, spec := range s.file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			all[imported] = true
		}
	}
	for imported := range maps.Clone(all) {
		if name, ours := strings.CutPrefix(imported, module); ours {
			maps.Copy(all, t.reached(name))
		}
	}
	return all
}

func TestDriversDrawNoPictures(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{".", "node", "internal/sim", "internal/fleet"} {
		reached := all.reached(pkg)
		if !reached[module+"internal/record"] {
			t.Errorf("%s does not reach internal/record: the search is wrong", pkg)
		}
		for imported := range reached {
			if slices.ContainsFunc(pictures, func(p string) bool { return strings.HasPrefix(imported, p) }) {
				t.Errorf("%s reaches %s: events belong into internal/record, pictures into internal/chart", pkg, imported)
			}
		}
	}
}

// TestPropertiesDrawTheSame holds each package whose tests draw examples to those
// that are the same every time.
func TestPropertiesDrawTheSame(t *testing.T) {
	found, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	draws, same := make(map[string]bool), make(map[string]bool)
	for _, s := range found.sources {
		draws[s.pkg()] = draws[s.pkg()] || s.isTest() && importName(s, "pgregory.net/rapid") != ""
		same[s.pkg()] = same[s.pkg()] || s.isTest() && importName(s, "gossiptrainer/internal/proptest") != ""
	}
	for pkg, yes := range draws {
		if yes && !same[pkg] {
			t.Errorf("%s: its tests use rapid and do not import internal/proptest: they draw other examples each time", pkg)
		}
	}
}
