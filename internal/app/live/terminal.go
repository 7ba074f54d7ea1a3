package live

import (
	"io"
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"gossiptrainer/internal/record"
)

// frame is the time between two drawings of the table: fast enough to look
// alive, slow enough to cost nothing beside training.
const frame = 250 * time.Millisecond

// A terminal display redraws a table in place. Log lines queue until the program has printed them above the table.
// After the end of the program, the last table stays, and remaining and later lines follow below it.
type terminal struct {
	out     io.Writer
	program *tea.Program
	done    chan struct{} // closed when the program has ended

	mu        sync.Mutex
	dashboard *Dashboard
	log       []string
	printing  int    // lines at the head of log that the program prints now
	last      string // table drawn
	closed    bool   // last is the final table
	ended     bool   // the program has released the terminal
}

// Terminal returns a display for a terminal. It reads the keyboard only to keep
// typed text off the table; Ctrl-C ends the table and interrupts the process
// as usual.
func Terminal(in *os.File, out TTY, run Run) Display { return newTerminal(in, out, run) }

func newTerminal(in *os.File, out TTY, run Run, more ...tea.ProgramOption) *terminal {
	t := &terminal{out: out, dashboard: NewDashboard(run, time.Now()), done: make(chan struct{})}
	options := append(more, tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	t.program = tea.NewProgram(&screen{terminal: t}, options...)
	go t.run()
	return t
}

func (t *terminal) run() {
	defer close(t.done)
	_, err := t.program.Run()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	for _, line := range t.log {
		io.WriteString(t.out, line+"\n")
	}
	if err != nil {
		io.WriteString(t.out, "live table: "+err.Error()+"\n")
	}
}

func (t *terminal) Event(e record.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dashboard.Add(e, time.Now())
}

func (t *terminal) Write(lines []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return t.out.Write(lines)
	}
	t.log = append(t.log, strings.TrimRight(string(lines), "\n"))
	return len(lines), nil
}

func (t *terminal) Close() {
	t.program.Send(closing{})
	<-t.done
}

// draw returns the table. Once the display is closed, it returns the last table again.
func (t *terminal) draw(size Size) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed && size.Width > 0 {
		t.last = t.dashboard.Table(time.Now(), size)
	}
	return t.last
}

// freeze draws the table once more and keeps it.
func (t *terminal) freeze(size Size) {
	table := t.draw(size)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed && table != "" {
		t.last = table + "\n" // the program erases the last line, in which it leaves the cursor
	}
	t.closed = true
}

// printLog returns the command that prints the waiting log lines above the table.
func (t *terminal) printLog() tea.Cmd {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.printing > 0 || len(t.log) == 0 {
		return nil
	}
	t.printing = len(t.log)
	return tea.Sequence(tea.Println(strings.Join(t.log, "\n")), func() tea.Msg { return printed{} })
}

func (t *terminal) forgetPrinted() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log = t.log[t.printing:]
	t.printing = 0
}

// A screen is the program's model: it holds only the terminal's size.
type screen struct {
	*terminal
	size Size
}

// Messages of the program.
type (
	redraw  struct{} // time for the next frame
	printed struct{} // log lines stand above the table
	closing struct{} // Close was called
)

func tick() tea.Cmd {
	return tea.Tick(frame, func(time.Time) tea.Msg { return redraw{} })
}

func (s *screen) Init() tea.Cmd { return tick() }

func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.size = Size{msg.Width, msg.Height}
	case tea.KeyPressMsg:
		if msg.String() == "ctrl+c" {
			s.freeze(s.size)
			interrupt()
			return s, tea.Quit
		}
	case closing:
		s.freeze(s.size)
		return s, tea.Quit
	case redraw:
		return s, tea.Batch(tick(), s.printLog())
	case printed:
		s.forgetPrinted()
	}
	return s, nil
}

func (s *screen) View() tea.View { return tea.NewView(s.draw(s.size)) }
