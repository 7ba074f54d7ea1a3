package script

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// A progress bar of 100,000 states keeps its last one.
func TestOfAProgressBarTheLastStateIsKept(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var kept, shown bytes.Buffer
	c, err := Begin(t.Context(), Options{Command: []string{self, actor, "bar"}, Out: &shown, Keep: &kept,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	c.Enter(t.Context(), emptyRoom{}, alone)
	if err := c.Welcome(Place{Size: 1, Most: 1}, []float32{0}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Gradient(make([]float32, 1), 0, []float32{0}); err == nil {
		t.Error("a script steps that does not")
	}
	c.Close()
	if got := kept.String(); len(got) > 10_000 || !strings.Contains(got, "step 100000 of 100000\nafter\n") {
		t.Errorf("kept %d bytes: %.200q", len(got), got)
	}
	if got := shown.String(); len(got) > 10_000 || !strings.Contains(got, "step 100000 of 100000\nafter\n") {
		t.Errorf("shown %d bytes: %.200q", len(got), got)
	}
}

// The output of a hidden script is in its file. If it fails, its last lines are shown, and otherwise nothing is.
func TestOfAHiddenScriptThatFailsTheLastLinesAreShown(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for word, fails := range map[string]bool{"bar": false, "lines": true} {
		var shown, kept bytes.Buffer
		c, err := Begin(t.Context(), Options{Command: []string{self, actor, word}, Out: &shown, Keep: &kept, Hidden: true,
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		c.Enter(t.Context(), emptyRoom{}, alone)
		if err := c.Welcome(Place{Size: 1, Most: 1}, []float32{0}, nil); err != nil {
			t.Fatal(err)
		}
		_, _ = c.Gradient(make([]float32, 1), 0, []float32{0}) // the script does not step
		c.Close()
		want := ""
		if fails {
			want = "... 31 lines of the script before these\nline 3"
		}
		if got := shown.String(); !strings.HasPrefix(got, want) || fails != (got != "") {
			t.Errorf("%s: shown %q", word, got)
		}
		if strings.Count(shown.String(), "\n") > lastLines+1 || kept.Len() == 0 {
			t.Errorf("%s: shown %q, kept %q", word, shown.String(), kept.String())
		}
	}
}

// Two ends of a script need not show its lines twice.
func TestTheLastLinesAreShownOnce(t *testing.T) {
	var shown bytes.Buffer
	last := new(tail)
	_, _ = io.WriteString(last, "a\n")
	last.show(&shown)
	last.show(&shown)
	if shown.String() != "a\n" {
		t.Errorf("%q", shown.String())
	}
}
