package main

import (
	"fmt"
	"time"

	"golang.org/x/term"

	"gossiptrainer/internal/data"
	"gossiptrainer/internal/report"
)

// A progress shows how far something is: in place on a terminal, in lines elsewhere.
type progress struct {
	c    *console
	file string    // of the last line
	last time.Time // it was written
	open bool      // a line that has no end yet
}

func (c *console) newProgress() *progress { return &progress{c: c} }

// show tells how far a download is. Where there is no terminal it tells of each file once.
func (p *progress) show(at data.Progress) {
	p.write(fmt.Sprintf("%s: %s: %s of %s", at.Set, at.File, report.Size(at.Done), size(at.Total)), at.File != p.file)
	p.file = at.File
}

// seldom is the time between two lines of something long.
const seldom = 30 * time.Second

// Tell shows a text. Where there is no terminal it does so seldom.
func (p *progress) Tell(text string, now time.Time) {
	if p.last.IsZero() {
		p.last = now
	}
	due := now.Sub(p.last) >= seldom
	if due {
		p.last = now
	}
	p.write(text, due)
}

// write puts a text in place of the last one, or in a line of its own if that is due.
func (p *progress) write(text string, due bool) {
	switch {
	case p.c.quiet:
	case p.c.escapes():
		if width, _, err := term.GetSize(int(p.c.err.Fd())); err == nil {
			text = text[:min(len(text), max(0, width-1))] // only the last row of a longer one would be erased
		}
		fmt.Fprintf(p.c.err, "\r\x1b[K%s", text)
		p.open = true
	case due:
		fmt.Fprintln(p.c.err, text)
	}
}

// end ends the line on the terminal.
func (p *progress) end() {
	if p.open {
		fmt.Fprintln(p.c.err)
	}
}

// Clear removes the line from the terminal.
func (p *progress) Clear() {
	if p.open {
		fmt.Fprint(p.c.err, "\r\x1b[K")
		p.open = false
	}
}

func size(total int64) string {
	if total <= 0 {
		return "unknown size"
	}
	return report.Size(total)
}
