package screen

import (
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"gossiptrainer/internal/record"
)

// A Display shows a run to a person until it is closed. Its methods may be
// called from several goroutines.
type Display interface {
	Event(e record.Event)
	// SetRounds changes the number of rounds of the run, before the first of them.
	SetRounds(rounds int)
	// Write shows whole lines of a log. They never tear the display.
	io.Writer
	// Suspend ends the display for the time that this process stands still. It goes on by itself.
	Suspend()
	// Close ends the display, once. The last table stays on the screen. After
	// Close, log lines are written plainly.
	Close()
}

// A TTY is a stream that may lead to a terminal.
type TTY interface {
	io.ReadWriteCloser
	Fd() uintptr
}

// Interactive reports whether a table can be shown: out and in are the
// terminal of a process in its foreground, and it understands escape codes.
func Interactive(in *os.File, out TTY) bool {
	return os.Getenv("TERM") != "dumb" && term.IsTerminal(int(out.Fd())) &&
		term.IsTerminal(int(in.Fd())) && inForeground(in)
}

// interval is the time between two lines of a plain display.
const interval = 5 * time.Second

// reminder is the time after which a lasting wait is explained again.
const reminder = time.Minute

// A plain display prints one line per interval.
type plain struct {
	mu        sync.Mutex
	w         io.Writer
	dashboard *Dashboard
	heard     bool                 // an event came since the last line
	line      string               // the last line, without the remaining time
	told      map[string]time.Time // causes of lasting waits, and when they were explained
	close     sync.Once
	stop      chan struct{}
	done      chan struct{}
}

// Plain returns a display for files and pipes: a line when training begins, one per interval, and one for every wait
// that needs an explanation.
func Plain(w io.Writer, run Run) Display {
	p := &plain{w: w, dashboard: NewDashboard(run, time.Now()), told: map[string]time.Time{}, stop: make(chan struct{}),
		done: make(chan struct{})}
	go p.tickLoop()
	return p
}

func (p *plain) tickLoop() {
	defer close(p.done)
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case now := <-ticks.C:
			p.print(now)
		case <-p.stop:
			return
		}
	}
}

func (p *plain) print(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heard {
		p.printLine(now)
	}
	lasting := map[string]time.Time{}
	for _, wait := range p.dashboard.explain(now) {
		at, told := p.told[wait.cause]
		if !told || now.Sub(at) >= reminder {
			io.WriteString(p.w, wait.line+"\n")
			at = now
		}
		lasting[wait.cause] = at
	}
	p.told = lasting
}

// printLine prints the state of the run, unless only the remaining time has changed.
func (p *plain) printLine(now time.Time) {
	p.heard = false
	line := p.dashboard.Line(now)
	stand, _, _ := strings.Cut(line, " eta=")
	if stand != p.line {
		p.line = stand
		io.WriteString(p.w, line+"\n")
	}
}

func (p *plain) Event(e record.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = true
	now := time.Now()
	before := p.dashboard.started
	p.dashboard.Add(e, now)
	if before != p.dashboard.started {
		p.printLine(now)
	}
}

func (p *plain) SetRounds(rounds int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dashboard.run.Rounds = rounds
}

func (p *plain) Write(lines []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.w.Write(lines)
}

func (p *plain) Suspend() {}

func (p *plain) Close() {
	p.close.Do(func() { close(p.stop) })
	<-p.done
}

// Silent returns a display that shows only log lines.
func Silent(w io.Writer) Display { return silent{w} }

type silent struct{ io.Writer }

func (silent) Event(record.Event) {}
func (silent) SetRounds(int)      {}
func (silent) Suspend()           {}
func (silent) Close()             {}
