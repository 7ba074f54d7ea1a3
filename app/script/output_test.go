package script

import (
	"bytes"
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
