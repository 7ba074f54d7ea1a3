package configs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A preset keeps its comments when it is shown, and the output loads like the preset.
func TestCommentsAreKept(t *testing.T) {
	for _, p := range Presets() {
		l, err := Load(Source{File: p.Name, Set: []string{"train.rounds=999"}})
		if err != nil {
			t.Fatal(err)
		}
		text := string(l.Annotated())
		for line := range strings.Lines(string(p.Text)) {
			i := strings.Index(line, "#")
			if i < 0 {
				continue
			}
			if comment := strings.TrimSpace(line[i:]); !strings.Contains(text, comment) {
				t.Errorf("%s: no comment %q in\n%s", p.Name, comment, text)
			}
		}
		if diff := cmp.Diff(l.Config, mustLoad(t, text).Config); diff != "" {
			t.Errorf("%s: with its comments it loads as another (-want +got):\n%s", p.Name, diff)
		}
	}
}

func TestCommentsStandAtTheirKeys(t *testing.T) {
	l := mustLoad(t, "# head\nname: ab  # of the run\n# gone with its key\nmodel: {name: mlp, hidden: [8]}  # "+
		"small\ntrain:\n  # few\n  batch: 4\n  # rounds: 9\n# end\n")
	text := string(l.Annotated())
	for _, want := range []string{
		"# head\nname: ab  # of the run\n", "# gone with its key\nmodel:\n", "  # few\n  batch: 4\n  # rounds: 9\n",
		"\n# end\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestFilesOfTheOtherKindGetAHint(t *testing.T) {
	for file, hint := range map[string]string{
		"moniqua-fig1": "peer compare moniqua-fig1 runs it", writeFile(t, smallComparison): "comparison.yaml runs it",
	} {
		_, err := Load(Source{File: file})
		if p := problems(t, err); len(p) != 1 || !strings.Contains(p[0].Hint, hint) {
			t.Errorf("%s as a run file: %v", file, err)
		}
	}
	for _, file := range []string{"ring8", writeFile(t, "name: x\ntrain: {batch: 8}\n")} {
		_, err := LoadComparison(file, nil)
		if p := problems(t, err); len(p) != 1 || !strings.Contains(p[0].Hint, "peer lab") {
			t.Errorf("%s as a comparison: %v", file, err)
		}
	}
}

// Every key that the reader of comparisons knows is described, and read.
func TestKeysOfComparisonsAreDescribed(t *testing.T) {
	for _, key := range ComparisonReference() {
		if len(key.Description) < 8 || key.Type == "" {
			t.Errorf("%s: type %q, description %q", key.Name, key.Type, key.Description)
		}
	}
	if diff := cmp.Diff([]string{"name", "rate", "burst", "latency", "jitter", "loss", "rounds", "set"},
		networkKeys); diff != "" {
		t.Errorf("keys of a network (-want +got):\n%s", diff)
	}
	if _, err := LoadComparison(writeFile(t, string(NewComparison())), nil); err != nil {
		t.Errorf("a new comparison: %v", err)
	}
	if l := mustLoad(t, string(NewRun())); l.Config.Name != "my-run" {
		t.Errorf("a new run file: %+v", l.Config)
	}
}
