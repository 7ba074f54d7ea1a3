package configs

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestEveryKeyIsDescribed(t *testing.T) {
	keys := Reference()
	if len(keys) < 60 {
		t.Errorf("only %d keys", len(keys))
	}
	for _, k := range keys {
		if len(k.Description) < 8 || k.Type == "" {
			t.Errorf("%s: type %q, description %q", k.Name, k.Type, k.Description)
		}
		if k.Type == "string" && k.Default == "" && !strings.Contains(k.Name, "*") {
			t.Errorf("%s: a text shows no default", k.Name)
		}
	}
}

func TestTheReferenceHoldsUnitsRangesAndDefaults(t *testing.T) {
	byName := map[string]Key{}
	for _, k := range Reference() {
		byName[k.Name] = k
	}
	tests := []Key{
		{Name: "topology.slack", Type: "number or string", Default: "auto", Allowed: "auto, above 0, at most 1", Same: true},
		{Name: "algorithm.bits", Type: "integer", Default: "8", Allowed: "1 to 16, 32", Same: true},
		{Name: "algorithm.gamma", Type: "number or string", Default: "auto", Allowed: "auto, above 0, at most 1", Same: true},
		{Name: "algorithm.compressor.norm", Type: "string", Default: "linf", Allowed: "l2, linf", Same: true},
		{Name: "algorithm.compressor.clip", Type: "number", Default: "0", Allowed: "at least 0, at most 1000000", Same: true},
		{Name: "model.hidden", Type: "list of integers", Default: "[64]", Same: true},
		{Name: "limit.latency", Type: "duration", Default: "0s"},
		{Name: "peers.*.id", Type: "string", Same: true},
		{Name: "limit.links.*.rate", Type: "string", Default: `""`},
	}
	for _, want := range tests {
		got := byName[want.Name]
		got.Description, got.Values, got.Variable = "", nil, "" // see the test below
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestTheReferenceNamesValuesAndVariables(t *testing.T) {
	byName := map[string]Key{}
	for _, k := range Reference() {
		byName[k.Name] = k
	}
	for name, want := range map[string]Key{
		"wire.entropy": {Values: []string{"none", "auto", "huff0", "fse", "zstd", "bzip2"},
			Variable: "PEER_WIRE__ENTROPY"},
		"algorithm.theta.verify": {Values: []string{"true", "false"}, Variable: "PEER_ALGORITHM__THETA__VERIFY"},
		"train.step_size":        {Variable: "PEER_TRAIN__STEP_SIZE"},
		"seed":                   {},
		"peers.*.id":             {},
	} {
		if got := byName[name]; !cmp.Equal(got.Values, want.Values) || got.Variable != want.Variable {
			t.Errorf("%s has the values %q and the variable %q, want %q and %q", name, got.Values, got.Variable, want.Values,
				want.Variable)
		}
	}
}

func TestTheSchemaIsValidAndAcceptsTheDefaults(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(plainValue(Default())); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for _, text := range []string{`{"topology": {"size": 0}}`, `{"x": 1}`, `{"limit": {"links": {"0-1": {"speed": 1}}}}`} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if compiled.Validate(value) == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

// A key is marked as one to agree on exactly if changing it changes a section.
func TestMarkedKeysAreTheOnesInTheSections(t *testing.T) {
	var before [][32]byte
	for _, s := range Default().Sections() {
		before = append(before, s.Hash)
	}
	for _, key := range Reference() {
		if strings.Contains(key.Name, "*") || key.Name == "peers" || key.Name == "limit.links" || key.Name == "train.slow" ||
			key.Name == "topology.file" || key.Name == "train.from" {
			continue // lists and files have tests of their own
		}
		c := Default()
		change(t, reflect.ValueOf(&c).Elem(), strings.Split(key.Name, "."))
		changed := 0
		for i, s := range c.Sections() {
			if s.Hash != before[i] {
				changed++
			}
		}
		want := 0
		if key.Same {
			want = 1
		}
		if changed != want {
			t.Errorf("%s: marked %v, but it changes %d sections", key.Name, key.Same, changed)
		}
	}
}

// change gives the field that holds a key another value.
func change(t *testing.T, v reflect.Value, path []string) {
	t.Helper()
	for _, name := range path {
		found := false
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") == name {
				v, found = v.Field(i), true
				break
			}
		}
		if !found {
			t.Fatalf("no field for %s in %v", name, path)
		}
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 0.25)
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.New(v.Type().Elem()).Elem()))
	default:
		t.Fatalf("%v: no rule for a %v", path, v.Kind())
	}
}

func TestSectionsAreCanonical(t *testing.T) {
	a := mustLoad(t, "train: {step_size: 1, batch: 8}\nmodel: {hidden: [3]}\n").Config
	b := mustLoad(t, "model:\n  hidden:\n    - 3\ntrain:\n  batch: 8.0\n  step_size: 1.0e0\n").Config
	for i, s := range a.Sections() {
		if other := b.Sections()[i]; s.Hash != other.Hash || s.Name != other.Name {
			t.Errorf("%s: %s differs from %s", s.Name, s.JSON, other.JSON)
		}
		if !json.Valid(s.JSON) {
			t.Errorf("%s: not JSON: %s", s.Name, s.JSON)
		}
	}
}

func TestSectionsOfRosterAndEdges(t *testing.T) {
	hash := func(name string, c Config) (h [32]byte) {
		for _, s := range c.Sections() {
			if s.Name == name {
				h = s.Hash
			}
		}
		return h
	}
	a, b := Default(), Default()
	a.Peers = []Peer{{ID: "p"}, {ID: "q"}}
	b.Peers = []Peer{{ID: "p", Addrs: []string{"/ip4/10.0.0.1/tcp/1"}}, {ID: "q"}}
	if hash("peers", a) != hash("peers", b) {
		t.Error("addresses count")
	}
	b.Peers[0], b.Peers[1] = b.Peers[1], b.Peers[0]
	if hash("peers", a) == hash("peers", b) {
		t.Error("the order of the roster does not count")
	}
	a.Topology.Edges, a.Topology.File = edgeList(0, 1, 1, 2), "/a"
	b.Topology.Edges, b.Topology.File = edgeList(2, 1, 0, 1), "/b"
	if hash("topology", a) != hash("topology", b) {
		t.Error("the name of the file or the order of its lines counts")
	}
	b.Topology.Edges = edgeList(0, 2, 0, 1)
	if hash("topology", a) == hash("topology", b) {
		t.Error("the edges do not count")
	}
}

func TestRunID(t *testing.T) {
	if id := RunID("ring8"); !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(id) || id == RunID("ring9") {
		t.Errorf("got %s and %s", id, RunID("ring9"))
	}
}
