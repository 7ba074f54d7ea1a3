package lint

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	maxFields  = 20 // of a struct, with those of the structs of ours that it embeds
	maxMethods = 30 // of a type
	maxSpread  = 8  // files that hold the methods of a type
	maxFanOut  = 22 // packages of ours that a package imports
	maxCommand = 45 // the same for cmd/peer, which has a file for each command
)

// wideStructs may have more fields: each is a table of settings that people fill in by name.
var wideStructs = map[string]string{
	"configs Data":              "a section of a run file",
	"internal/record Summary":   "the JSON of a run's summary has these keys",
	"internal/cells Comparison": "the JSON of a comparison has these keys",
	"node Options":              "the settings of a peer, filled in by name",
	"node Status":               "the JSON of a peer's status has these keys",
}

// A census is what the laws on the house count, by package and type or by package.
type census struct {
	fields, methods, spread, fanOut map[string]int
}

// count takes the census of the files that are neither tests nor generated.
func count(sources []source) census {
	structs := map[string]declaration{}
	for _, d := range declarations(sources) {
		if spec, ok := d.node.(*ast.TypeSpec); ok {
			if _, ok := spec.Type.(*ast.StructType); ok {
				structs[d.key()] = d
			}
		}
	}
	c := census{map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}}
	for _, d := range structs {
		if name := d.pkg() + " " + d.id.Name; !isOutside(d.pkg()) {
			c.fields[name] = flat(structs, d, nil)
		}
	}
	seen := map[[2]string]bool{}
	once := func(counts map[string]int, name, what string) {
		if key := [2]string{name, what}; !seen[key] {
			seen[key] = true
			counts[name]++
		}
	}
	for _, d := range declarations(sources) {
		if d.receiver != "" && !isOutside(d.pkg()) {
			once(c.methods, d.pkg()+" "+d.receiver, d.id.Name)
			once(c.spread, d.pkg()+" "+d.receiver, d.path)
		}
	}
	for _, s := range sources {
		for _, to := range imports(s) {
			if !s.isTest() && !isOutside(s.pkg()) {
				once(c.fanOut, s.pkg(), to)
			}
		}
	}
	return c
}

// flat counts the fields of a struct, and in the place of an embedded struct of ours its fields.
func flat(structs map[string]declaration, d declaration, above []string) int {
	if slices.Contains(above, d.key()) {
		return 0
	}
	n := 0
	for _, f := range d.node.(*ast.TypeSpec).Type.(*ast.StructType).Fields.List {
		if n += len(f.Names); len(f.Names) > 0 {
			continue
		}
		inner := 1
		mentions(d.source, f.Type, func(key string) {
			if embedded, ok := structs[key]; ok {
				inner = flat(structs, embedded, append(above, d.key()))
			}
		})
		n += inner
	}
	return n
}

// today are the offenders of each law with their counts. They may only shrink.
var today = map[string]map[string]int{
	"fields": {
		"app/dash Peer": 27, "app/peer Lab": 31, "app/peer Part": 29,
		"app/session Session": 24, "app/status Answer": 27, "gossip PairWorker": 22, "gossip Worker": 23,
		"gossip/replay Replay": 21, "internal/bridge Script": 22, "internal/kernel/gen drawer": 21,
		"internal/kernel/gen quantizer": 37, "internal/kernel/gen rounder": 21, "internal/cells Cell": 53,
		"internal/report Explained": 40, "lab/study Study": 27, "internal/sim faultSim": 28,
		"internal/sim peer": 48, "lab/compare Matrix": 24, "lab/simulate Run": 27, "model batchNorm": 21,
		"model groupNorm": 21, "moniqua laneChecker": 23, "moniqua mendMixer": 25, "node Worker": 27,
		"node driver": 25, "node keeper": 41, "node/link edge": 41, "node/link neighbour": 29,
		"node/link shared": 24, "node/vector averaging": 21, "quant BinGradB": 25, "quant BinGradPB": 28,
		"quant Levels": 29, "quant MinMax": 27, "quant ORQ": 28, "quant QSGD": 27, "quant Quantiles": 27,
		"quant Sign": 22, "quant TernGrad": 25, "quant bucketed": 21,
	},
	"methods": {
		"app/doctor/meeting meeting": 33, "app/session Session": 42, "cmd/peer console": 35,
		"gossip PairWorker": 56, "gossip Worker": 55, "gossip/elastic Membership": 34, "gossip/peer Peer": 31,
		"internal/kernel Tier": 56, "internal/kernel/gen width": 45,
		"internal/shards Dataset": 32, "internal/sim faultSim": 59,
		"internal/sim simulation": 43,
		"lab/compare Matrix":      50, "lab/plan planner": 32, "moniqua Codec": 36, "node Node": 41, "node driver": 43,
		"node/link edge": 51, "node/vector Service": 33, "topology Graph": 45,
	},
	"spread": {
		"cmd/peer console": 12, "configs Config": 10, "configs Loaded": 9, "gossip PairWorker": 9,
		"internal/kernel Tier":      21,
		"internal/kernel/gen width": 15, "lab/study Group": 11, "lab/study Study": 15,
		"internal/sim faultSim": 10, "internal/sim simulation": 10, "lab/compare Matrix": 11,
		"lab/plan planner": 10, "model builder": 11, "node Node": 10, "node driver": 10, "topology Graph": 13,
	},
}

// hold finds names with a count over the bound, and entries of the list that are within it now.
func hold(law string, counts map[string]int, bound func(name string) int, fix string) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if n, most := counts[name], max(bound(name), today[law][name]); n > most {
			found = append(found, fmt.Sprintf("%s: %d, more than %d: %s", name, n, most, fix))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(today[law])) {
		if counts[name] <= bound(name) {
			found = append(found, fmt.Sprintf("today[%q]: %s is within the bound now: remove the entry", law, name))
		}
	}
	return found
}

func TestTheHouseHasWalls(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	c := count(all.sources)
	for name := range wideStructs {
		if c.fields[name] <= maxFields {
			t.Errorf("wideStructs: %s has %d fields: remove the exception", name, c.fields[name])
		}
		delete(c.fields, name)
	}
	at := func(most int) func(string) int { return func(string) int { return most } }
	for _, finding := range slices.Concat(
		hold("fields", c.fields, at(maxFields), "fields, with the embedded ones: split the struct by duty, and pass "+
			"the parts"),
		hold("methods", c.methods, at(maxMethods), "methods: move those that need few fields to functions or to a type of "+
			"their own"),
		hold("spread", c.spread, at(maxSpread), "files with methods: a type in so many files is a package without walls: "+
			"move a duty to a type of its own"),
		hold("fanOut", c.fanOut, func(pkg string) int {
			if pkg == "cmd/peer" {
				return maxCommand
			}
			return maxFanOut
		}, "imports of ours: every one is a reason to change: move the work to the package that has the imports"),
	) {
		t.Error(finding)
	}
}

// A place is a library that one package alone may import, so that one idea has one place.
type place struct {
	library string
	in      string // "": everywhere but in the folder not
	not     string
	reason  string
}

var places = []place{
	{"gonum.org/v1/gonum/stat/distuv", "internal/stats", "", "intervals are made there"},
	{"crypto/cipher", "", "node", "records are those of crypto/tls"},
	{"text/tabwriter", "internal/human", "", "tables are written by one writer"},
}

// misplaced finds imports of libraries outside their places.
func misplaced(s source) []string {
	var found []string
	for _, p := range places {
		outsideOf := p.in != "" && s.pkg() != p.in || p.not != "" && strings.HasPrefix(s.path, p.not+"/")
		if outsideOf && !s.isTest() && !isOutside(s.pkg()) && importName(s, p.library) != "" {
			found = append(found, s.at(s.file.Package, "import of %s: %s", p.library, p.reason))
		}
	}
	return found
}

func TestIdeasHaveOnePlace(t *testing.T) { check(t, misplaced) }

func TestTheCensusCounts(t *testing.T) {
	var sources []source
	for name, text := range map[string]string{
		"algos/x.go": "package algos\ntype A struct { a, b int; B; *gossip.C; error }\ntype B struct { B2; c int }\n" +
			"type B2 struct { *A; d, e int }\nfunc (*A) M() {}\n",
		"algos/y.go":      "package algos\nimport \"gossiptrainer/gossip\"\ntype D struct { gossip.C }\nfunc (A) n() {}\n",
		"gossip/z.go":     "package gossip\ntype C struct { f, g, h int }\n",
		"algos/z_test.go": "package algos\nfunc (A) o() {}\n",
	} {
		s, err := parse(name, []byte(text))
		if err != nil {
			t.Fatal(path.Base(name), err)
		}
		sources = append(sources, s)
	}
	c := count(sources)
	// The file of A and B does not import gossip, so that gossip.C counts as one field there.
	for name, want := range map[string]int{"algos A": 7, "algos B": 7, "algos D": 3, "gossip C": 3} {
		if c.fields[name] != want {
			t.Errorf("%s has %d fields, want %d", name, c.fields[name], want)
		}
	}
	if c.methods["algos A"] != 2 || c.spread["algos A"] != 2 || c.fanOut["algos"] != 1 {
		t.Errorf("%+v", c)
	}
	expect(t, misplaced, "node/x.go", "package node\nimport \"crypto/cipher\"\n", "records are those")
	expect(t, misplaced, "app/x/x.go", "package x\nimport \"text/tabwriter\"\n", "one writer")
	expect(t, misplaced, "app/x/x.go", "package x\nimport \"crypto/cipher\"\n", "")
}
