package bridge

import (
	"bytes"
	"io"
	"sync"
)

// maxLine bounds a line of output; a longer one is broken.
const maxLine = 64 << 10

// Lines passes complete lines on, each in one write and with a prefix. A carriage return begins a line over, as on a
// terminal, so that of a progress bar the last state remains.
type lines struct {
	prefix string
	to     io.Writer
	lock   *sync.Mutex // of all streams of the script, whose lines do not mix
	line   []byte      // the prefix and the line so far
	failed error
}

func newLines(to io.Writer, prefix string, lock *sync.Mutex) *lines {
	return &lines{prefix: prefix, to: to, lock: lock, line: []byte(prefix)}
}

// Write takes any part of the output. It never fails, for a script is not to be stopped by a lost terminal.
func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end >= 0 {
			l.add(p[:end])
			l.flush()
			p = p[end+1:]
			continue
		}
		l.add(p)
		break
	}
	return n, nil
}

// add appends a part of a line.
func (l *lines) add(p []byte) {
	for len(p) > 0 {
		room := maxLine + len(l.prefix) - len(l.line)
		n := min(len(p), room)
		l.line = append(l.line, p[:n]...)
		p = p[n:]
		if len(l.line) < maxLine+len(l.prefix) {
			return
		}
		if at := bytes.LastIndexByte(l.line[len(l.prefix):len(l.line)-1], '\r'); at >= 0 {
			l.line = append(l.line[:len(l.prefix)], l.line[len(l.prefix)+at+1:]...)
		} else if len(p) > 0 {
			l.flush()
		}
	}
}

// flush passes the line on.
func (l *lines) flush() {
	text := bytes.TrimSuffix(l.line[len(l.prefix):], []byte("\r"))
	if at := bytes.LastIndexByte(text, '\r'); at >= 0 {
		text = text[at+1:]
	}
	line := append(append(l.line[:len(l.prefix)], text...), '\n')
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.failed == nil {
		_, l.failed = l.to.Write(line)
	}
	l.line = line[:len(l.prefix)]
}

// end passes on a last line that no newline ends.
func (l *lines) end() {
	if len(l.line) > len(l.prefix) {
		l.flush()
	}
}
