package script

import (
	"io"
	"log/slog"
)

// Options say how a script is started.
type Options struct {
	Command []string
	Seed    uint64    // of the run
	Env     []string  // more of its environment, as name=value
	Out     io.Writer // gets its output
	Keep    io.Writer // gets it too, but of a line that begins over only the last state; nil: nothing does
	Quiet   bool      // only its errors
	Log     *slog.Logger
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
	if o.Keep == nil {
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
