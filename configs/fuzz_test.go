package configs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "gossiptrainer/internal/proptest"
)

// Load never panics, explains what it refuses, and what it accepts can be written and read again.
func FuzzLoad(f *testing.F) {
	for _, p := range Presets() {
		f.Add(string(p.Text), "train.rounds=3", "PEER_TRAIN__BATCH=2")
	}
	complete, err := os.ReadFile("testdata/complete.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(complete), "limit.links.0-1={rate: 1mbit}", "PEER_ALGORITHM__THETA__RULE=fixed")
	for _, text := range []string{"{a: [1, {b: c}]}", "a: |\n  b\n", "a: 'b\n  c'", "? a\n: b", "%YAML 1.2\n---\na: 1",
		"a: \"\\u00e9\"", "[", "-", "a:\r\n  b: 1\r\n"} {
		f.Add(text, "="+text, "PEER___="+text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text, set, env string) {
		file := filepath.Join(dir, "run.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Load(Source{File: file, Set: []string{set}, Env: []string{env}})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || len(e.Problems) == 0 {
				t.Fatalf("not a located error: %v", err)
			}
			for _, p := range e.Problems {
				if p.Source == "" || p.Message == "" || p.Source == file && p.Line == 0 {
					t.Errorf("not located: %+v", p)
				}
			}
			if !strings.HasPrefix(e.Detail(), "error: ") {
				t.Errorf("detail: %q", e.Detail())
			}
			return
		}
		if len(l.Origins()) == 0 {
			t.Error("no origins")
		}
		if err := os.WriteFile(file, l.Config.YAML(), 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := Load(Source{File: file})
		if err != nil {
			t.Fatalf("%s\ndoes not load: %v", l.Config.YAML(), err)
		}
		if diff := cmp.Diff(l.Config, again.Config); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestYAMLLoadsBackToTheSameConfig(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		want := Default()
		want.Name = rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,20}`).Draw(t, "name")
		want.Seed = rapid.Uint64().Draw(t, "seed")
		want.Node.JoinSecret = rapid.StringMatching(`[ -~]{0,20}`).Draw(t, "secret")
		want.Output.Dir = rapid.StringMatching(`[a-zé0-9:#/ ~*&!-]{1,10}`).Draw(t, "dir")
		want.Train.StepSize = rapid.Float64Range(1e-12, 100).Draw(t, "step")
		want.Topology.Slack = rapid.OneOf(rapid.Just(Computed),
			rapid.Map(rapid.Float64Range(1e-9, 1), func(v float64) Auto { return Auto(v) })).Draw(t, "slack")
		want.Limit.Latency = Duration(rapid.Int64Range(0, 10e9).Draw(t, "latency"))
		want.Limit.Links["0-1"] = LinkLimit{Rate: "3mbit"}
		file := filepath.Join(dir, "run.yaml")
		if err := os.WriteFile(file, want.YAML(), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Load(Source{File: file})
		if err != nil {
			t.Fatalf("%v\n%s", err, want.YAML())
		}
		if diff := cmp.Diff(want, l.Config); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}
