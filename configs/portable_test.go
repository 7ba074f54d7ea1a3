package configs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The embedded comparisons load, and each that is written is read back with the same cells.
func TestComparisonSurvivesItsFile(t *testing.T) {
	all := Comparisons()
	if len(all) == 0 {
		t.Fatal("there are none")
	}
	for _, p := range all {
		want, err := LoadComparison(p.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want.Name != p.Name || p.About == "" {
			t.Errorf("%s: name %q, first line %q", p.Name, want.Name, p.About)
		}
		for i, a := range want.Algorithms {
			for _, choice := range a.Tune {
				want.Algorithms[i].Set = append(want.Algorithms[i].Set, Override{choice.Key, choice.Values[0]})
			}
			want.Algorithms[i].Tune = nil
		}
		want.Tuning = Tuning{Seed: tuningSeed}
		text, err := want.YAML()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "comparison.yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := LoadComparison(file, nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", p.Name, err, text)
		}
		same, err := want.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := got.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(same), string(again)); diff != "" {
			t.Errorf("%s: %s", p.Name, diff)
		}
		cells := got.Cells()
		for i, cell := range want.Cells() {
			if want.Base == got.Base && slices.Equal(cell.Set, cells[i].Set) {
				continue // the same words make the same run file
			}
			if diff := cmp.Diff(hashOf(t, want.Base, cell), hashOf(t, got.Base, cells[i])); diff != "" {
				t.Errorf("%s: %s: %s", p.Name, cell, diff)
			}
		}
	}
}

// hashOf returns the run file of a cell.
func hashOf(t *testing.T, base string, cell Cell) string {
	t.Helper()
	loaded, err := Load(Source{File: base, Set: Arguments(cell.Set)})
	if err != nil {
		t.Fatal(err)
	}
	return string(loaded.Config.YAML())
}

// A portable run file has no key that belongs to one machine.
func TestPortableFilesHoldNothingPrivate(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"run.yaml": "name: a\ntopology: {kind: edges, file: mine.txt}\ndata: {name: a9a, dir: /hush/data}\noutput: {dir: " +
			"/hush/runs, every: 7}\n" +
			"checkpoint: {dir: /hush/kept}\nnode: {join_secret: hush, key: /hush/key, metrics: 'hush:1', security: noise}\n",
		"mine.txt": "0 1\n1 2\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := Load(Source{File: filepath.Join(dir, "run.yaml"), Env: []string{"PEER_TRAIN__BATCH=16"}})
	if err != nil {
		t.Fatal(err)
	}
	given, err := loaded.Given()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(given), string(loaded.Config.Portable())} {
		if strings.Contains(text, "hush") || strings.Contains(text, dir) {
			t.Errorf("%s holds something private", text)
		}
		for _, want := range []string{"every: 7", "security: noise", "batch: 16", "file: " + EdgesFile} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", text, want)
			}
		}
	}
	for key, want := range map[string]bool{"node.join_secret": true, "node": true, "data.dir": true,
		"data.name": false, "data": false, "train.batch": false} {
		if Private(key) != want {
			t.Errorf("Private(%s) is %v", key, !want)
		}
	}
}

// Settings that were given for all models once ended plans and searches of a quadratic: they have no effect there.
func TestUntestedSettingsHaveAnEffect(t *testing.T) {
	for _, model := range []string{"quadratic", "logistic"} {
		whole, err := Load(Source{Set: []string{"model.name=" + model}})
		if err != nil {
			t.Fatal(err)
		}
		short, err := Load(Source{Set: append(whole.Config.Untested(), "model.name="+model)})
		if err != nil {
			t.Fatal(err)
		}
		if short.Config.Output.Evaluate != 0 {
			t.Errorf("%s: output.evaluate is %d", model, short.Config.Output.Evaluate)
		}
	}
}
