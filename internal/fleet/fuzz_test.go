package fleet

import (
	"bytes"
	"strings"
	"testing"
)

// Each line of a peer's standard output is a notice or a line of its log, and none is lost.
func FuzzNotices(f *testing.F) {
	f.Add([]byte(`{"ready":{"id":"12D3","addrs":["/ip4/127.0.0.1/tcp/1"]}}` + "\n" + `{"done":true}` + "\n"))
	f.Add([]byte(`{"event":{"step":{"rank":3,"round":7}}}` + "\nstray output\n\n{\"done\":"))
	f.Add([]byte(`{"failed":{"reason":"r","code":5,"echo":true}}` + "\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := 0
		for line := range bytes.Lines(text) {
			if strings.TrimRight(string(line), "\r\n") != "" {
				lines++
			}
		}
		all := make(chan news, lines)
		source{2, all}.readNotices(bytes.NewReader(text))
		close(all)
		for n := range all {
			lines--
			if n.rank != 2 || strings.HasSuffix(n.line, "\n") {
				t.Fatalf("%q: %+v", text, n)
			}
		}
		if lines != 0 {
			t.Errorf("%q: %d lines are missing", text, lines)
		}
	})
}
