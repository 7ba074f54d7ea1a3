package screen

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"gossiptrainer/internal/record"
)

// frame is the time between two drawings of the table: fast enough to look alive, slow enough to cost nothing beside
// training.
const frame = 250 * time.Millisecond

// Escape codes, which every terminal that knows any understands or ignores.
const (
	hideCursor, showCursor = "\x1b[?25l", "\x1b[?25h"
	beginFrame, endFrame   = "\x1b[?2026h", "\x1b[?2026l" // the terminal shows a frame at once
	eraseBelow, eraseLine  = "\x1b[J", "\x1b[2K"
)

// A table display redraws a table in place, below the log. The cursor stays in the line below the table. After the end
// the last table stays on the screen, and later lines follow below it.
type table struct {
	*Dashboard
	out      io.Writer
	keyboard keyboard
	size     func() Size
	front    func() bool // this process is in the foreground of the terminal
	plain    bool        // without colours

	mu    sync.Mutex
	log   []string // lines that no frame has printed yet
	shown []string // lines of the table on the screen
	width int      // of the terminal when they were drawn
	holds bool     // the terminal shows no cursor and no typed text
	over  bool

	stop func() // ends the redrawing, once
	done chan struct{}
}

// Terminal returns a display for a terminal. It keeps typed text off the table, apart from Ctrl-C and Ctrl-Z, which
// work as usual.
func Terminal(in *os.File, out TTY, run Run) Display {
	t := &table{
		Dashboard: NewDashboard(run, time.Now()), out: out, keyboard: keyboard{in: in},
		front: func() bool { return inForeground(in) }, plain: os.Getenv("NO_COLOR") != "",
		size: func() Size {
			width, height, _ := term.GetSize(int(out.Fd())) // 0 where it fails: nothing is drawn
			return Size{width, height}
		},
	}
	t.start()
	return t
}

func (t *table) start() {
	stopped := make(chan struct{})
	t.stop, t.done = sync.OnceFunc(func() { close(stopped) }), make(chan struct{})
	go func() {
		defer close(t.done)
		ticks := time.NewTicker(frame)
		defer ticks.Stop()
		for {
			select {
			case now := <-ticks.C:
				t.draw(now)
			case <-stopped:
				t.end(time.Now())
				return
			}
		}
	}()
}

func (t *table) Event(e record.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Add(e, time.Now())
}

func (t *table) SetRounds(rounds int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.run.Rounds = rounds
}

func (t *table) Write(lines []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return t.out.Write(lines)
	}
	t.log = append(t.log, strings.Split(strings.TrimRight(string(lines), "\n"), "\n")...)
	return len(lines), nil
}

func (t *table) Close() {
	t.stop()
	<-t.done
}

// Suspend leaves the terminal to others until it is in the foreground again.
func (t *table) Suspend() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release()
}

// draw puts a new frame in place of the last one. A process in the background draws nothing.
func (t *table) draw(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if size := t.size(); size.Width > 0 && t.front() {
		t.hold()
		t.paint(now, size)
	}
}

// end draws the last frame, which stays.
func (t *table) end(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if size := t.size(); size.Width > 0 && t.front() {
		t.paint(now, size)
		t.log = nil
	}
	t.release()
	for _, line := range t.log {
		fmt.Fprintln(t.out, line)
	}
	t.over = true
}

// hold takes the terminal. Output of other processes stays above the next frame.
func (t *table) hold() {
	if !t.holds {
		t.holds, t.shown = true, nil
		t.keyboard.hush()
		io.WriteString(t.out, hideCursor)
	}
}

// release gives the terminal back as it was. A process in the background would be stopped for that.
func (t *table) release() {
	if t.holds && t.front() {
		io.WriteString(t.out, showCursor)
		t.keyboard.restore()
	}
	t.holds = false
}

// paint writes the lines of the log that wait, and the table below them.
func (t *table) paint(now time.Time, size Size) {
	lines := strings.Split(t.Table(now, size), "\n")
	lines = lines[:min(len(lines), max(size.Height-1, 1))]
	if len(t.log) == 0 && size.Width == t.width && slices.Equal(lines, t.shown) {
		return
	}
	var b strings.Builder
	b.WriteString(beginFrame)
	if n := t.rows(size.Width); n > 0 {
		fmt.Fprintf(&b, "\r\x1b[%dA", n)
	}
	if len(t.log) > 0 || size.Width != t.width { // of long lines, erasing by line would miss the second row
		b.WriteString(eraseBelow)
	}
	for _, line := range t.log {
		b.WriteString(line + "\n")
	}
	for _, line := range lines {
		if t.plain {
			line = ansi.Strip(line)
		}
		b.WriteString(eraseLine + line + "\n")
	}
	b.WriteString(eraseBelow + endFrame)
	io.WriteString(t.out, b.String())
	t.log, t.shown, t.width = nil, lines, size.Width
}

// rows returns how many rows the table on the screen takes. A terminal that has become narrower has folded its lines.
func (t *table) rows(width int) int {
	rows := 0
	for _, line := range t.shown {
		rows += max(1, (ansi.StringWidth(line)+width-1)/width)
	}
	return rows
}
