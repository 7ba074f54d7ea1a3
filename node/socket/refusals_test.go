package socket

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestALogIsToldOfAReasonOnce(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	var r Refusals
	for range 1000 {
		r.Tell(log, "refused", "stranger")
		r.Tell(log, "refused", "join secret")
	}
	if lines := strings.Count(text.String(), "\n"); lines != 2 {
		t.Errorf("%d lines, want one per reason", lines)
	}
	r.mu.Lock()
	r.told["stranger"] = mention{r.told["stranger"].at.Add(-quiet), 1}
	r.mu.Unlock()
	r.Tell(log, "refused", "stranger")
	if got := r.Read()["stranger"]; got != 1001 || !strings.Contains(text.String(), `"before, unsaid"=999`) {
		t.Errorf("%d counted, log %s", got, text.String())
	}
}
