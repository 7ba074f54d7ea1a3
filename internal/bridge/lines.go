package bridge

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// maxLine bounds a line of output; a longer one is cut, and says its length.
const maxLine = 64 << 10

// liveEvery is how often the state of a progress bar is shown.
const liveEvery = time.Second

// Lines passes complete lines on, each in one write and with a prefix. A carriage return begins a line over, as on a
// terminal, so that of a progress bar the last state remains.
type lines struct {
	prefix string
	to     io.Writer
	lock   *sync.Mutex // of all streams of the script, whose lines do not mix
	line   []byte      // the prefix and the line so far
	cut    int         // bytes of the line that are left out
	failed error

	begun    bool      // a carriage return began the line
	returned bool      // and another one follows it
	live     io.Writer // gets the state of such a line now and then; nil: nothing does
	shown    time.Time // when it was shown last
}

func newLines(to io.Writer, prefix string, lock *sync.Mutex) *lines {
	return &lines{prefix: prefix, to: to, lock: lock, line: []byte(prefix)}
}

// Write takes any part of the output. It never fails, for a script is not to be stopped by a lost terminal.
func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			break
		}
		l.add(p[:end])
		l.flush()
		p = p[end+1:]
	}
	l.add(p)
	if l.live != nil && (l.begun || l.returned) && time.Since(l.shown) >= liveEvery {
		l.shown = time.Now()
		l.lock.Lock()
		defer l.lock.Unlock()
		_, _ = l.live.Write(l.whole()) // a lost state comes again
	}
	return n, nil
}

// add appends a part of a line.
func (l *lines) add(p []byte) {
	if len(p) == 0 {
		return
	}
	if at := bytes.LastIndexByte(p[:len(p)-1], '\r'); at >= 0 || l.returned {
		l.line, l.cut, l.begun, l.returned = l.line[:len(l.prefix)], 0, true, false
		p = p[at+1:]
	}
	if p[len(p)-1] == '\r' {
		l.returned, p = true, p[:len(p)-1]
	}
	n := min(len(p), maxLine+len(l.prefix)-len(l.line))
	l.line = append(l.line, p[:n]...)
	l.cut += len(p) - n
}

// whole returns the line so far, as it is passed on.
func (l *lines) whole() []byte {
	line := bytes.Clone(l.line)
	if l.cut > 0 {
		line = fmt.Appendf(line, "... (%d bytes)", len(l.line)-len(l.prefix)+l.cut)
	}
	return append(line, '\n')
}

// flush passes the line on.
func (l *lines) flush() {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.failed == nil {
		_, l.failed = l.to.Write(l.whole())
	}
	l.line, l.cut, l.begun, l.returned = l.line[:len(l.prefix)], 0, false, false
}

// end passes on a last line that no newline ends.
func (l *lines) end() {
	if len(l.line) > len(l.prefix) {
		l.flush()
	}
}
