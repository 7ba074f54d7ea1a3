package configs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "comparison.yaml")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

const smallComparison = `name: small
base: ring8
mode: sim
compute: 20ms
networks:
  - {name: slow, rate: 1mbit, latency: 1ms, rounds: 10}
  - {name: fast}
algorithms:
  - {label: D-PSGD, name: dpsgd, bits: 32}
  - {label: Choco 4b, name: choco, gamma: "tune(0.1, 0.3)", compressor: {name: qsgd, bits: 4, scaled: true}, set: {train: {momentum: 0}}}
seeds: [3, 4]
budget: {rounds: 50}
tuning: {rounds: 7, seed: 9}
report: {targets: {loss: 0.6, accuracy: 0.85}}
`

// A target of accuracy makes cells evaluate their models, also where the base has no evaluations.
func TestATargetOfAccuracySetsTheEvaluation(t *testing.T) {
	for set, want := range map[string]string{
		"report: {targets: {accuracy: 0.8}}":           "seed=1 train.rounds=300 output.evaluate=7 algorithm.name=dpsgd",
		"report: {targets: {loss: 0.8}}":               "seed=1 train.rounds=300 algorithm.name=dpsgd",
		"report: {targets: {accuracy: [0.5, 0.8]}}":    "seed=1 train.rounds=300 output.evaluate=7 algorithm.name=dpsgd",
		"report: {targets: {accuracy: 0.8, loss: 1}}":  "seed=1 train.rounds=300 output.evaluate=7 algorithm.name=dpsgd",
		"report: {targets: {loss: 1, accuracy: 0.01}}": "seed=1 train.rounds=300 output.evaluate=7 algorithm.name=dpsgd",
	} {
		c, err := LoadComparison(writeFile(t, `name: fig
base: ring8
networks: [{name: fast}]
algorithms: [{label: D-PSGD, name: dpsgd}]
seeds: [1]
budget: {rounds: 300}
`+set), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Arguments(c.Cells()[0].Set), " "); got != want {
			t.Errorf("%s: cells set %q, want %q", set, got, want)
		}
	}
}

func TestComparison(t *testing.T) {
	c, err := LoadComparison(writeFile(t, smallComparison), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &Comparison{
		Name: "small", Base: "ring8", Mode: "sim", Compute: "20ms",
		Networks: []NetworkCase{
			{"slow", []Override{{"limit.rate", "1mbit"}, {"limit.latency", "1ms"}, {"train.rounds", "10"}}}, {Name: "fast"},
		},
		Algorithms: []Variant{
			{Label: "D-PSGD", Set: []Override{{"algorithm.bits", "32"}, {"algorithm.name", "dpsgd"}}},
			{Label: "Choco 4b", Set: []Override{
				{"algorithm.compressor.bits", "4"}, {"algorithm.compressor.name", "qsgd"}, {"algorithm.compressor.scaled", "true"},
				{"algorithm.name", "choco"}, {"train.momentum", "0"},
			}, Tune: []Choice{{"algorithm.gamma", []string{"0.1", "0.3"}}}},
		},
		Seeds: []uint64{3, 4}, Budget: Budget{Rounds: 50}, Tuning: Tuning{Rounds: 7, Seed: 9},
		Targets: Targets{Loss: 0.6, Accuracy: 0.85}, Evaluate: 1,
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	cells := c.Cells()
	if len(cells) != 8 {
		t.Fatalf("%d cells, want 8", len(cells))
	}
	last := cells[7]
	if last.String() != "Choco 4b on fast, seed 4" || last.ID() != "choco-4b.fast.4" {
		t.Errorf("cell %q in folder %q", last, last.ID())
	}
	got := strings.Join(Arguments(cells[0].Set), " ")
	if want := "seed=3 train.rounds=50 output.evaluate=1 limit.rate=1mbit limit.latency=1ms train.rounds=10 " +
		"algorithm.bits=32 algorithm.name=dpsgd"; got != want {
		t.Errorf("first cell sets %q, want %q", got, want)
	}
}

// The first seed of all algorithms comes first, and those with fewer seeds are missing later.
func TestAlgorithmsWithFewerSeeds(t *testing.T) {
	text := strings.Replace(smallComparison, "label: Choco 4b,", "label: Choco 4b, seeds: 1,", 1)
	c, err := LoadComparison(writeFile(t, text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, cell := range c.Cells() {
		got = append(got, cell.ID())
	}
	const want = "d-psgd.slow.3 choco-4b.slow.3 d-psgd.slow.4 d-psgd.fast.3 choco-4b.fast.3 d-psgd.fast.4"
	if strings.Join(got, " ") != want {
		t.Errorf("cells %q, want %q", got, want)
	}
}

// Targets may be lists, in any order, and networks may have keys of the run file.
func TestLevelsAndSettingsOfNetworks(t *testing.T) {
	text := strings.NewReplacer("loss: 0.6, accuracy: 0.85", "loss: [0.6, 2, 1], accuracy: [0.9, 0.5]", "{name: fast}",
		"{name: fast, set: {data: {partition: dirichlet, alpha: 0.1}}}").Replace(smallComparison)
	c, err := LoadComparison(writeFile(t, text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Targets != (Targets{0.6, 0.9}) || !slices.Equal(c.Levels.Loss, []float64{2, 1}) ||
		!slices.Equal(c.Levels.Accuracy, []float64{0.5}) {
		t.Errorf("targets %v, levels %v", c.Targets, c.Levels)
	}
	last := c.Cells()[7]
	if got, want := strings.Join(Arguments(last.Set), " "), "data.alpha=0.1 data.partition=dirichlet "; !strings.Contains(
		got, want) {
		t.Errorf("%s sets %q, want %q", last, got, want)
	}
	written, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"loss:\n    - 2.0\n    - 1.0\n    - 0.6\n", "data.partition: dirichlet"} {
		if !strings.Contains(string(written), want) {
			t.Errorf("no %q in\n%s", want, written)
		}
	}
}

// Short forms set what they say, in the compressor of algorithms that have one.
func TestShortFormsOfComparisons(t *testing.T) {
	for entry, want := range map[string]string{
		"{label: a, name: dcd, bits: 8}": "algorithm.compressor.bits=8 algorithm.name=dcd",
		"{label: a, name: choco, levels: 5, compressor: {name: orq}}": "algorithm.compressor.levels=5 " +
			"algorithm.compressor.name=orq algorithm.name=choco",
		"{label: a, name: allreduce, reduce: server, bits: 2, compressor: {name: minmax, mode: stochastic}}": "" +
			"algorithm.compressor.bits=2 " +
			"algorithm.compressor.mode=stochastic algorithm.compressor.name=minmax algorithm.name=allreduce " +
			"algorithm.reduce=server",
		"{label: a, name: allreduce, bits: 32}": "algorithm.bits=32 algorithm.name=allreduce",
		"{label: a, name: d2, bits: 8}":         "algorithm.bits=8 algorithm.name=d2",
	} {
		c, err := LoadComparison(writeFile(t, "name: x\nbase: ring8\nalgorithms: ["+entry+"]\n"), nil)
		if err != nil {
			t.Errorf("%s: %v", entry, err)
			continue
		}
		if got := strings.Join(Arguments(c.Algorithms[0].Set), " "); got != want {
			t.Errorf("%s sets %s, want %s", entry, got, want)
		}
	}
}

func TestComparisonDefaults(t *testing.T) {
	c, err := LoadComparison(writeFile(t, "name: x\nbase: ring8\nalgorithms: [{label: a}]\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Mode != "sim" || len(c.Seeds) != 3 || len(c.Networks) != 1 || len(c.Cells()) != 3 {
		t.Errorf("mode %s, seeds %v, networks %v", c.Mode, c.Seeds, c.Networks)
	}
}

func TestBoundsOfKeys(t *testing.T) {
	for o, want := range map[Override]bool{
		{"algorithm.gamma", "1"}: true, {"algorithm.gamma", "0.6"}: false, {"algorithm.gamma", "auto"}: false,
		{"algorithm.compressor.clip", "0"}: true, {"train.step_size", "0.1"}: false, {"no.key", "1"}: false,
	} {
		if got := AtBound(o); got != want {
			t.Errorf("%v: %v", o, got)
		}
	}
}

func TestCombinations(t *testing.T) {
	got := Combinations([]Choice{{"a", []string{"1", "2"}}, {"b", []string{"3", "4"}}})
	want := [][]Override{{{"a", "1"}, {"b", "3"}}, {{"a", "1"}, {"b", "4"}}, {{"a", "2"}, {"b", "3"}},
		{{"a", "2"}, {"b", "4"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := Combinations(nil); len(got) != 1 || got[0] != nil {
		t.Errorf("without choices: %v", got)
	}
}

func TestComparisonMistakes(t *testing.T) {
	change := func(old, new string) string { return strings.Replace(smallComparison, old, new, 1) }
	everywhere := func(set string) string {
		return strings.NewReplacer("rounds: 10}", "set: {"+set+"}}", "{name: fast}", "{name: fast, set: {"+set+"}}").
			Replace(smallComparison)
	}
	for name, test := range map[string]struct{ text, want string }{
		"not yaml":          {"{", "could not find"},
		"no section":        {"[1]", "key: value"},
		"unknown key":       {change("networks", "network"), "did you mean networks?"},
		"unknown network":   {change("rate: 1mbit", "speed: 1mbit"), "unknown key; networks.0 has"},
		"two labels":        {change("Choco 4b", "D-PSGD"), "two algorithms are labelled"},
		"two networks":      {change("name: fast", "name: slow"), "two networks are named"},
		"same folder":       {change("Choco 4b", "D_PSGD"), "same folder"},
		"no label":          {change("label: D-PSGD, ", ""), "needs a label"},
		"no algorithm":      {"name: x\nbase: ring8\n", "must list at least one"},
		"zero seeds":        {change("[3, 4]", "[]"), "must list 1 to"},
		"seed of tuning":    {change("[3, 4]", "[3, 9]"), "9 is the seed of cells"},
		"a seed twice":      {change("[3, 4]", "[3, 3]"), "given twice"},
		"a seed below 0":    {change("[3, 4]", "[3, -4]"), "whole number from 0"},
		"more seeds":        {change("bits: 32", "bits: 32, seeds: 3"), "algorithms.0.seeds: must be at most 2"},
		"no seed of one":    {change("bits: 32", "bits: 32, seeds: 0"), "algorithms.0.seeds: must be a whole number from 1"},
		"no rate":           {change("1mbit", "0bit"), "must be a rate of at least 1kbit"},
		"no rounds":         {change("rounds: 50", "rounds: 0"), "whole number from 1"},
		"no base":           {change("base: ring8", "base: \"\""), "must be a preset"},
		"unknown base":      {change("base: ring8", "base: ring9"), "neither a file nor a preset"},
		"base without file": {change("base: ring8", "base: ring9.yaml"), "cannot be read: no such file"},
		"unknown mode":      {change("mode: sim", "mode: real"), "must be sim or lab"},
		"no time":           {change("rounds: 50", "time: 0s"), "must be a duration above 0"},
		"target of nothing": {strings.NewReplacer("rounds: 50", "target: true", "report:", "# ").Replace(smallComparison),
			"target needs one"},
		"target of a number": {change("rounds: 50", "target: 0.5"), "must be true or false"},
		"compute in lab":     {change("mode: sim", "mode: lab"), "time of a gradient in sim"},
		"no duration":        {change("20ms", "soon"), "is not measured, a time like 20ms"},
		"accuracy beyond 1":  {change("0.85", "85"), "share from 0 to 1"},
		"loss below 0":       {change("0.6", "-1"), "must be a number above 0"},
		"a target twice":     {change("0.6", "[0.6, 1, 0.6]"), "targets.loss.2: 0.6 is given twice"},
		"no targets":         {change("0.6", "[]"), "list of 1 to 64"},
		"a target of text":   {change("0.85", "[0.5, high]"), "targets.accuracy.1: must be a number above 0"},
		"accuracies above 1": {change("0.85", "[0.5, 7]"), "share from 0 to 1, got 7"},
		"network no section": {change("{name: fast}", "{name: fast, set: 3}"), "networks.1.set: must be a section"},
		"network that tunes": {change("{name: fast}", "{name: fast, set: {train: {batch: \"tune(1, 2)\"}}}"),
			"networks.1.set: train.batch: tune(...) belongs to an algorithm"},
		"no evaluations":     {everywhere("output: {evaluate: 0}"), "no cell tells when accuracy 0.85 is reached"},
		"too few records":    {everywhere("output: {every: 11}"), "50 rounds have fewer records than the 5"},
		"wrong in a network": {change("{name: fast}", "{name: fast, set: {data: {alpha: -1}}}"), "data.alpha"},
		"unknown target":     {change("accuracy", "acuracy"), "did you mean accuracy?"},
		"unknown setting":    {change("bits: 32", "bit: 32"), "cell D-PSGD on slow, seed 3"},
		"short form twice": {change("gamma: \"tune", "bits: 2, gamma: \"tune"),
			"is short for compressor.bits, which is given, too"},
		"no effect":          {change("bits: 32", "gamma: 1"), "algorithm.gamma: cell D-PSGD on slow, seed 3: has no effect"},
		"setting that fails": {change("bits: 32", "bits: 17"), "algorithm.bits"},
		"tuned value":        {change("0.1, 0.3", "0.1, 7"), "algorithm.gamma"},
		"label no section":   {change("- {label: D-PSGD, name: dpsgd, bits: 32}", "- dpsgd"), "must be a section"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadComparison(writeFile(t, test.text), nil)
			var e *Error
			if !errors.As(err, &e) || strings.Count(e.Detail(), test.want) != 1 {
				t.Fatalf("error %v, want one with %q", err, test.want)
			}
			if !strings.Contains(e.Detail(), "comparison.yaml") {
				t.Errorf("%v does not say where", e.Detail())
			}
		})
	}
	if _, err := LoadComparison("moniqua-fig", nil); err == nil ||
		!strings.Contains(err.Error(), "neither a file nor a preset") {
		t.Errorf("unknown name: %v", err)
	}
}

// One mistake in a network, the base or a list gives one error.
func TestOneMistakeOfAComparisonIsOneError(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base.yaml")
	if err := os.WriteFile(base, []byte("train: {batch: many}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	algorithms := "algorithms: [{label: a, name: dpsgd}, {label: b, name: d2}, {label: c, name: choco}]\n"
	for text, want := range map[string]string{
		"name: x\nbase: ring8\nnetworks:\n  - {name: slow, latency: 5}\n" + algorithms: "limit.latency: must have a unit",
		"name: x\nbase: ring8\nnetworks: [{name: slow, burst: 9}]\n" + algorithms:      "limit.burst: has no effect",
		"name: x\nbase: " + base + "\n" + algorithms:                                   "base.yaml:1:16",
		"name: x\nbase: ring8\nalgorithms: hello\n":                                    "must be a list of 1 to 64 sections",
	} {
		_, err := LoadComparison(writeFile(t, text), nil)
		if p := problems(t, err); len(p) != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("want one problem with %q, got\n%v", want, err)
		}
	}
}
