package compare

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/live"
)

// A pace estimates the time for the rest of a comparison. It uses the cells that this process has run, and the progress
// of the running cell.
type pace struct {
	took  []timing
	rest  []configs.Cell // that have not begun
	runs  []configs.Cell // together
	since time.Time      // they run
	share float64        // of their rounds
}

// A timing is how long a cell took.
type timing struct {
	cell configs.Cell
	took time.Duration
}

// begin notes the start of cells that run together.
func (p *pace) begin(cells []configs.Cell, now time.Time) {
	p.runs, p.since, p.share = cells, now, 0
	p.rest = p.rest[len(cells):]
}

// end notes the end of the running cells.
func (p *pace) end(now time.Time) {
	for _, cell := range p.runs {
		p.took = append(p.took, timing{cell, now.Sub(p.since) / time.Duration(len(p.runs))})
	}
	p.runs = nil
}

// left returns the time for the rest; false before any estimate.
func (p *pace) left(now time.Time) (time.Duration, bool) {
	known, running, left := p.took, now.Sub(p.since), time.Duration(0)
	if n := len(p.runs); n > 0 {
		whole := time.Duration(n) * mean(known, p.runs[0])
		if p.share > 0 {
			whole = time.Duration(float64(running) / p.share)
			known = append(slices.Clone(known), timing{p.runs[0], whole / time.Duration(n)})
		}
		left = max(0, whole-running)
	}
	if len(known) == 0 {
		return 0, false
	}
	for _, cell := range p.rest {
		left += mean(known, cell)
	}
	return left, true
}

// mean returns the mean time of the known cells that are most like a cell. They have the same
// algorithm and network, else the same network, else the same algorithm, else they are all.
func mean(known []timing, cell configs.Cell) time.Duration {
	for _, like := range []func(configs.Cell) bool{
		func(c configs.Cell) bool { return c.Label == cell.Label && c.Network == cell.Network },
		func(c configs.Cell) bool { return c.Network == cell.Network },
		func(c configs.Cell) bool { return c.Label == cell.Label },
		func(configs.Cell) bool { return true },
	} {
		sum, n := time.Duration(0), 0
		for _, t := range known {
			if like(t.cell) {
				sum += t.took
				n++
			}
		}
		if n > 0 {
			return sum / time.Duration(n)
		}
	}
	return 0
}

// words describes the time for the rest.
func (p *pace) words(now time.Time) string {
	left, ok := p.left(now)
	if !ok {
		return ""
	}
	return fmt.Sprintf(", about %s left", live.Clock(left))
}

// A listener reads the progress of a cell from its process.
type listener struct {
	tell func(live.Progress)
	line []byte
}

// Write implements io.Writer.
func (l *listener) Write(p []byte) (int, error) {
	l.line = append(l.line, p...)
	for {
		line, rest, whole := bytes.Cut(l.line, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if s, ok := live.ReadLine(string(line)); ok {
			l.tell(s)
		}
		l.line = rest
	}
}
