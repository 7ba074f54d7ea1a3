package compare

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"gossiptrainer/app/screen"
	"gossiptrainer/configs"
	"gossiptrainer/internal/human"
)

// A pace estimates the time for the rest of a comparison. It uses the cells that this process has run, and the progress
// of the running cells. Several goroutines may call its methods.
type pace struct {
	mu   sync.Mutex
	jobs int // cells side by side, ≥ 1
	took []timing
	rest []configs.Cell // that have not begun
	runs []*running

	shown screen.Countdown
}

// A running is a process with cells that run together.
type running struct {
	name  string // shown where several run
	cells []configs.Cell
	since time.Time // its start, or when it told its share for the first time, if it goes on
	first float64   // share of the rounds that were over when it told its share for the first time
	at    screen.Progress
	told  bool
}

// A timing is how long a cell took.
type timing struct {
	cell configs.Cell
	took time.Duration
}

// begin notes the start of cells that run together: the next ones of the rest.
func (p *pace) begin(name string, cells []configs.Cell, now time.Time) *running {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &running{name: name, cells: cells, since: now}
	p.runs = append(p.runs, r)
	p.rest = p.rest[min(len(cells), len(p.rest)):]
	return r
}

// tell notes the progress of running cells. Cells that go on from a checkpoint have done a share before, and take time
// to read it.
func (p *pace) tell(r *running, at screen.Progress, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !r.told && at.Share > 1.0/64 { // a new cell tells of its beginning
		r.first, r.since = at.Share, now
	}
	r.told, r.at = true, at
}

// end notes the end of running cells.
func (p *pace) end(r *running, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	whole := time.Duration(float64(now.Sub(r.since)) / max(1-r.first, 1.0/64))
	for _, cell := range r.cells {
		p.took = append(p.took, timing{cell, whole / time.Duration(len(r.cells))})
	}
	p.runs = slices.DeleteFunc(p.runs, func(o *running) bool { return o == r })
}

// leastShare is the share of the rounds below which the speed of cells is not known.
const leastShare = 1.0 / 100

// whole returns the time that running cells would take from their beginning; false as long as it is not known.
func (r *running) whole(now time.Time) (time.Duration, bool) {
	if r.at.Share-r.first < leastShare {
		return 0, false
	}
	return time.Duration(float64(now.Sub(r.since)) / (r.at.Share - r.first)), true
}

// rest returns the time that running cells still take.
func (r *running) rest(known []timing, now time.Time) time.Duration {
	if whole, ok := r.whole(now); ok {
		return time.Duration(float64(whole) * (1 - r.at.Share))
	}
	return max(0, time.Duration(len(r.cells))*mean(known, r.cells[0])-now.Sub(r.since))
}

// left returns the time for the rest; false before any estimate.
func (p *pace) left(now time.Time) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := slices.Clone(p.took)
	for _, r := range p.runs {
		if whole, ok := r.whole(now); ok {
			known = append(known, timing{r.cells[0], whole / time.Duration(len(r.cells))})
		}
	}
	if len(known) == 0 {
		return 0, false
	}
	longest, sum := time.Duration(0), time.Duration(0)
	for _, r := range p.runs {
		rest := r.rest(known, now)
		longest, sum = max(longest, rest), sum+rest
	}
	for _, cell := range p.rest {
		sum += mean(known, cell)
	}
	return max(longest, sum/time.Duration(p.jobs)), true
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

// show returns the time for the rest as it is shown.
func (p *pace) show(now time.Time) time.Duration {
	left, known := p.left(now)
	if !known {
		return screen.Unknown
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown.Show(left, now)
}

// words describes the time for the rest at the beginning of a cell, if it is known.
func (p *pace) words(now time.Time) string {
	left := p.show(now)
	if left == screen.Unknown {
		return ""
	}
	return ", " + screen.Left(left)
}

// line describes the running cells: of several each with its time.
func (p *pace) line(now time.Time) string {
	p.mu.Lock()
	var all []string
	for _, r := range p.runs {
		text := cmp.Or(r.at.Text, "starting")
		if _, ok := r.whole(now); ok && len(p.runs) > 1 {
			text += ", " + human.Clock(r.rest(p.took, now))
		}
		if len(p.runs) > 1 {
			text = r.name + ": " + text
		}
		all = append(all, text)
	}
	p.mu.Unlock()
	return strings.Join(all, "; ") + ", " + screen.Left(p.show(now))
}

// A listener reads the progress of a cell from its process.
type listener struct {
	tell func(screen.Progress)
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
		if s, ok := screen.ReadLine(string(line)); ok {
			l.tell(s)
		}
		l.line = rest
	}
}
