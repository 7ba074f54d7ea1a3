package script

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// Options say how a script is started.
type Options struct {
	Command []string
	Seed    uint64    // of the run
	Env     []string  // more of its environment, as name=value
	Out     io.Writer // gets its output
	Keep    io.Writer // gets it too, but of a line that begins over only the last state; nil: nothing does
	Quiet   bool      // only its errors
	Hidden  bool      // Out gets nothing but the last lines of a script that fails
	Log     *slog.Logger
	Views   bool // members come and go: the script must take views
}

// said returns where the standard output of the script goes.
func (o Options) said() io.Writer {
	if o.Quiet {
		return io.Discard
	}
	return o.Out
}

// live returns where the states of progress bars go, which are not kept.
func (o Options) live() io.Writer {
	switch {
	case o.Hidden:
		return io.Discard
	case o.Keep == nil:
		return nil // they go where the rest goes
	}
	return o.said()
}

// kept returns a writer to another one and to Keep.
func (o Options) kept(to io.Writer) io.Writer {
	if o.Keep == nil {
		return to
	}
	return tee{to, o.Keep}
}

type tee struct{ shown, kept io.Writer }

// Write implements io.Writer. A full disk stops no script.
func (t tee) Write(lines []byte) (int, error) {
	_, _ = t.kept.Write(lines)
	return t.shown.Write(lines)
}

// lastLines is how many lines of a hidden script that fails are shown. A traceback seldom has more.
const lastLines = 20

// A tail keeps the last lines of a script whose output is hidden.
type tail struct {
	mu    sync.Mutex
	lines [][]byte
	more  int // lines before these
}

// Write takes a line.
func (t *tail) Write(line []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, bytes.Clone(line))
	if len(t.lines) > lastLines {
		t.lines = t.lines[1:]
		t.more++
	}
	return len(line), nil
}

// show writes the lines, once.
func (t *tail) show(to io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.more > 0 {
		fmt.Fprintf(to, "... %d lines of the script before these\n", t.more)
	}
	for _, line := range t.lines {
		_, _ = to.Write(line) // a terminal that is gone is no harm
	}
	t.lines, t.more = nil, 0
}
