package main

import (
	"fmt"

	"gossiptrainer/data"
	"gossiptrainer/report"
)

// A progress shows how far a download is: in place on a terminal, a line per
// file elsewhere.
type progress struct {
	c    *console
	file string
	open bool // a line that has no end yet
}

func (c *console) newProgress() *progress { return &progress{c: c} }

func (p *progress) show(at data.Progress) {
	if p.c.quiet {
		return
	}
	text := fmt.Sprintf("%s: %s: %s of %s", at.Set, at.File, report.Size(at.Done), size(at.Total))
	switch {
	case p.c.escapes():
		fmt.Fprintf(p.c.err, "\r\x1b[K%s", text) // erase the line, write it again
		p.open = true
	case at.File != p.file:
		fmt.Fprintln(p.c.err, text)
	}
	p.file = at.File
}

// end ends the line on the terminal.
func (p *progress) end() {
	if p.open {
		fmt.Fprintln(p.c.err)
	}
}

func size(total int64) string {
	if total <= 0 {
		return "unknown size"
	}
	return report.Size(total)
}
