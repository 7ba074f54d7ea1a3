package describe

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/topology"
)

func graph(t *testing.T, spec string) *shownGraph {
	t.Helper()
	s, err := topology.ParseSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	s.Slack = 1
	g, err := topology.New(s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newGraph(g)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// written returns what a report prints.
func written(t *testing.T, r interface{ Write(w io.Writer) error }) string {
	t.Helper()
	var text strings.Builder
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestAGraphIsWhatTheTheorySays(t *testing.T) {
	r := graph(t, "ring:4")
	if r.Workers != 4 || len(r.Edges) != 4 || r.Diameter != 2 || math.Abs(r.Gap-(1-r.Rho)) > 1e-12 ||
		len(r.Eigenvalues) != 4 {
		t.Errorf("%+v", r)
	}
	for i, row := range r.W {
		sum := 0.0
		for _, v := range row {
			sum += v
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("row %d of W sums to %v", i, sum)
		}
	}
	if text := written(t, r); !strings.Contains(text, "4 edges, diameter 2") || strings.Count(text, "0.3333") < 12 {
		t.Errorf("printed\n%s", text)
	}
}

func TestALargeGraphHasNoMatrix(t *testing.T) {
	r := graph(t, "ring:65")
	if r.W != nil || strings.Contains(written(t, r), "0.3333 0.3333") {
		t.Error("a matrix of 65 rows")
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, key := range []string{"spec", "workers", "diameter", "lambda_2", "rho", "eigenvalues"} { // in this order
		next := strings.Index(string(text), `"`+key+`":`)
		if next <= at {
			t.Errorf("%s at %d, after %d: %.200s", key, next, at, text)
		}
		at = next
	}
}

func TestACompressorIsShownAtWork(t *testing.T) {
	r, z, err := Quantize([]string{"name=sign"}, Subject{On: "normal", Count: 4096})
	if err != nil {
		t.Fatal(err)
	}
	if len(z) != 4096 || r.Name != "sign" || r.Bits > 1.1 || len(r.Levels) != 2 {
		t.Errorf("%d numbers, %+v", len(z), r.Look)
	}
	text := written(t, r)
	for _, want := range []string{"sign: biased", "4096 normal numbers", "LEVEL"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	figure, err := r.Draw(z, "svg")
	if err != nil || !strings.Contains(string(figure), "<svg") {
		t.Errorf("a figure of %d bytes, error %v", len(figure), err)
	}
	if _, _, err := Quantize([]string{"name=sing"}, Subject{On: "normal", Count: 1}); err == nil {
		t.Error("sing is a compressor")
	}
}

func TestVectorsAreReadFromFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, text []byte) Subject {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		return Subject{On: path}
	}
	z, err := file("two", []byte{0, 0, 128, 63, 0, 0, 0, 192}).read()
	if err != nil || len(z) != 2 || z[0] != 1 || z[1] != -2 {
		t.Errorf("%v, error %v", z, err)
	}
	for name, subject := range map[string]Subject{
		"no whole number": file("five", make([]byte, 5)), "nothing": file("empty", nil), "a folder": {On: dir},
		"none": {On: "normal"}, "too many": {On: "normal", Count: mostNumbers + 1},
	} {
		if z, err := subject.read(); err == nil {
			t.Errorf("%s: %d numbers", name, len(z))
		}
	}
	_, err = Subject{On: filepath.Join(dir, "missing")}.read()
	usage, ok := errors.AsType[*advice.UsageError](err)
	if !ok || !errors.Is(err, fs.ErrNotExist) || usage.Hint() == "" {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestEveryCompressorOfTheReferenceIsNamed(t *testing.T) {
	names := CompressorNames()
	if len(names) < 5 {
		t.Fatalf("%q", names)
	}
	for _, name := range names {
		if strings.TrimSpace(name) != name || name == "" {
			t.Errorf("%q", name)
		}
	}
}

func TestDataSetsHaveAState(t *testing.T) {
	states := map[string]string{}
	for _, s := range Sets(t.TempDir()) {
		states[s.Name] = s.State
	}
	if states["glyphs"] != "built in" || states["mnist"] != "missing" || len(states) != len(SetNames()) {
		t.Errorf("%v", states)
	}
	var text strings.Builder
	if err := WriteSets(&text, Sets(t.TempDir())); err != nil || strings.Count(text.String(), "\n") != 1+len(states) {
		t.Errorf("error %v, printed\n%s", err, text.String())
	}
}

func TestMissingFilesAreCounted(t *testing.T) {
	dir := t.TempDir()
	none, err := VerifySets(nil, dir)
	if err != nil || len(none) != 0 || WrongFiles(none) != nil {
		t.Errorf("%v, error %v, want nothing to check", none, err)
	}
	files, err := VerifySets([]string{"mnist"}, dir)
	if err != nil || len(files) != 4 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	wrong := WrongFiles(files)
	_, missing := errors.AsType[*data.MissingError](wrong)
	if !missing || !strings.Contains(wrong.Error(), "4 of 4 files are missing") {
		t.Errorf("error %v", wrong)
	}
	var text strings.Builder
	if err := WriteFiles(&text, files); err != nil || strings.Count(text.String(), "missing") != 4 {
		t.Errorf("error %v, printed\n%s", err, text.String())
	}
	if _, err := VerifySets([]string{"mnits"}, dir); err == nil || !strings.Contains(err.Error(), "mnits") {
		t.Errorf("error %v", err)
	}
}

func TestOriginsSayWhatAutoIsInThisRun(t *testing.T) {
	loaded, err := configs.Load(configs.Source{Set: []string{
		"algorithm={name: choco, compressor: {name: sign}}", "model={name: quadratic, dim: 10}",
	}})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := WriteOrigins(&text, Origins(loaded)); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "algorithm.gamma ") && strings.Contains(line, " here") {
			return
		}
	}
	t.Errorf("the gamma of this run is not in\n%s", text.String())
}

func TestTheReferenceHasTwoLinesPerKey(t *testing.T) {
	keys := configs.Reference()
	var text strings.Builder
	if err := WriteReference(&text, keys); err != nil || strings.Count(text.String(), "\n") != 2*len(keys) {
		t.Errorf("error %v, %d lines for %d keys", err, strings.Count(text.String(), "\n"), len(keys))
	}
}

func TestWhatIsEmbeddedIsListed(t *testing.T) {
	all := EmbeddedFiles()
	if want := len(configs.Presets()) + len(configs.Comparisons()); len(all) != want {
		t.Errorf("%d files, want %d", len(all), want)
	}
	var text strings.Builder
	if err := WriteEntries(&text, all); err != nil || !strings.Contains(text.String(), "ring8 ") {
		t.Errorf("error %v, printed\n%s", err, text.String())
	}
}

func TestRunsAreDescribed(t *testing.T) {
	for want, set := range map[string][]string{
		"r: ring of 4, D-PSGD, 8-bit Moniqua, quadratic with 10 parameters, 7 rounds": nil,
		"r: ring of 4, D-PSGD, full precision, quadratic with 10 parameters, 7 rounds": {
			"algorithm={name: dpsgd, codec: full, bits: 32}",
		},
		"r: ring of 4 with slack 0.5, D-PSGD, 8-bit Moniqua, quadratic with 10 parameters, 7 rounds": {
			"topology.slack=0.5",
		},
	} {
		set = append([]string{
			"name=r", "topology.size=4", "model={name: quadratic, dim: 10}", "train.rounds=7",
		}, set...)
		loaded, err := configs.Load(configs.Source{Set: set})
		if err != nil {
			t.Fatal(err)
		}
		run, err := experiment.New(loaded.Config)
		if err != nil {
			t.Fatal(err)
		}
		if got := Run(run); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if shown := Live(run); shown.Peers != 4 || shown.Rounds != 7 ||
			!strings.Contains(want, shown.Topology+", "+shown.Method) {
			t.Errorf("%+v, want as in %q", shown, want)
		}
	}
}

func TestARunOfUnknownSizeIsDescribed(t *testing.T) {
	loaded, err := configs.Load(configs.Source{Set: []string{"model.name=external"}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	want := "run: ring of 8, D-PSGD, 8-bit Moniqua, external " +
		"with a size that is known once its script joins, as many rounds as the longest script has steps"
	if got := Run(run); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
