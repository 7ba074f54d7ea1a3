package advice

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	candidates := []string{"set", "json", "compute"}
	for word, want := range map[string]string{
		"sed": "set", "jsn": "json", "comptue": "compute", "nothing": "", "": "",
	} {
		if got := Nearest(word, candidates); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestCommandsAreReadBackByAShell(t *testing.T) {
	tests := []struct {
		words []string
		want  string
	}{
		{[]string{"peer", "lab", "ring8"}, "peer lab ring8"},
		{[]string{"--set", "model.hidden=[8, 8]"}, "--set 'model.hidden=[8, 8]'"},
		{[]string{"it's", ""}, `'it'\''s' ''`},
	}
	for _, tt := range tests {
		if got := Command(tt.words...); got != tt.want {
			t.Errorf("Command(%q) = %s, want %s", tt.words, got, tt.want)
		}
	}
}

// A long line is folded between words, and a shell reads its command as before.
func TestTheNextCommandIsFoldedBetweenWords(t *testing.T) {
	command := Command("peer", "lab", "it's a file.yaml", "--set", "model.hidden=[8, 8]", "--set", "train.rounds=20")
	for width, want := range map[int]string{
		0:   "next: " + command + "   the same run\n",
		120: "next: " + command + "   the same run\n",
		60: `next: peer lab 'it'\''s a file.yaml' --set \
      'model.hidden=[8, 8]' --set train.rounds=20
  the same run
`,
		30: `next: peer lab \
      'it'\''s a file.yaml' \
      --set \
      'model.hidden=[8, 8]' \
      --set train.rounds=20
  the same run
`,
	} {
		w := &narrow{width: width}
		Next(w, command, "the same run")
		if got := w.String(); got != want {
			t.Errorf("%d columns:\n%swant\n%s", width, got, want)
		}
		if got := strings.Join(shellWords(command), "|"); strings.Count(got, "|") != 6 {
			t.Errorf("words %s", got)
		}
	}
}

// A narrow writer leads to a terminal of a width.
type narrow struct {
	strings.Builder
	width int
}

func (n *narrow) Width() int { return n.width }

func TestACommandShowsNoSecret(t *testing.T) {
	if got := Command("peer", "run", "--set", "node.join_secret=sesame"); strings.Contains(got, "sesame") {
		t.Errorf("the secret is in %s", got)
	}
}

func TestHintsSurviveWrapping(t *testing.T) {
	cause := errors.New("no such mode")
	for name, tt := range map[string]struct {
		err        error
		text, hint string
	}{
		"usage":         {Usage(cause, "lab or sim"), "no such mode", "lab or sim"},
		"no hint":       {Usagef("got %d", 3), "got 3", ""},
		"another error": {With(cause, "read on"), "no such mode", "read on"},
		"a misspelling": {OneOf("mode", "simm", []string{"lab", "sim"}), `mode "simm": want one of lab, sim`,
			"did you mean sim?"},
		"another letter": {OneOf("mode", "x", []string{"quick"}), `mode "x": want one of quick`, ""},
	} {
		hinted, ok := errors.AsType[interface {
			error
			Hint() string
		}](fmt.Errorf("compare: %w", tt.err))
		if !ok || hinted.Error() != tt.text || hinted.Hint() != tt.hint {
			t.Errorf("%s: %v, want %q with the hint %q", name, hinted, tt.text, tt.hint)
		}
	}
	for _, err := range []error{Usage(cause, ""), With(cause, "")} {
		if !errors.Is(err, cause) {
			t.Errorf("%#v lost its cause", err)
		}
	}
}

func TestWarningsNameTheirSection(t *testing.T) {
	for text, want := range map[string]string{
		"choco with qsgd: it diverges":      "warning: choco with qsgd: it diverges; see " + Section("unsuited-compressors"),
		"the sky falls":                     "warning: the sky falls",
		"checkpoint skipped by a passer-by": "warning: checkpoint skipped by a passer-by",
	} {
		if got := Warning(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Pages are named where a package has installed them, else in the source.
func TestPagesAreNamedWhereTheyAre(t *testing.T) {
	root := t.TempDir()
	program := filepath.Join(root, "usr", "bin", "peer")
	docs := filepath.Join(root, "usr", "share", "doc", "gossiptrainer", "docs")
	if got := pagesOf(program); got != "docs" {
		t.Errorf("%s, want those of the source", got)
	}
	if err := os.MkdirAll(docs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docs, manual), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := pagesOf(program); got != docs {
		t.Errorf("%s, want %s", got, docs)
	}
}

func TestALogPointsToTheManual(t *testing.T) {
	var said strings.Builder
	log := slog.New(Pointing(slog.NewTextHandler(&said, nil))).With("rank", 3)
	log.Warn("checkpoint skipped", "why", "damaged")
	log.Info("checkpoint skipped")
	log.Error("unheard of")
	lines := strings.Split(said.String(), "\n")
	if want := "see=" + Section("damaged-checkpoints"); !strings.HasSuffix(lines[0], want) {
		t.Errorf("%s, want %s at its end", lines[0], want)
	}
	if strings.Contains(strings.Join(lines[1:], ""), "see=") {
		t.Errorf("%q: want a section in the first line alone", lines)
	}
}
