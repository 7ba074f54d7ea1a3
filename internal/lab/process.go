package lab

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// A process is one peer as the supervisor sees it, through all its lives.
type process struct {
	cmd    *exec.Cmd
	orders chan order // written to its standard input in turn; room for all there ever are

	contact Contact
	ready   bool // has said where it is, in some life
	round   int  // of the latest step that it has reported
	begun   int  // rounds begun, as last heard
	still   bool // begins no other until the end is known
	done    bool
	through bool // and its process has ended, which others may not have heard of
	lost    bool // the run goes on without it
	failed  bool // has said why it gives up
	words   words
	lives   int // so far
	deaths  []time.Time

	// The state that a script of faults has put the process into.
	conditions Conditions // as it was told last
	doomed     bool       // it is killed, and its end is not known yet
	away       bool       // it is dead, and not to be started yet
	hangs      bool       // it was stopped by a signal
}

// ordersPerLife is how many orders a process of n can get, without a script: one of each
// kind, but of those that are through one for each.
func ordersPerLife(n int) int { return 4 + n }

// begin starts the process of a rank with some orders. What it does is news.
func (p *process) begin(rank int, cmd *exec.Cmd, orders chan order, heard chan<- news) {
	p.cmd, p.orders = cmd, orders
	p.words, p.still = words{}, false
	p.lives++
	p.conditions, p.away, p.hangs = Conditions{}, false, false
	cmd.SysProcAttr = attributes()
	started := make(chan struct{})
	go attend(cmd, orders, speaker{rank, heard}, started)
	<-started
}

// A speaker is a process whose news are heard.
type speaker struct {
	rank  int
	heard chan<- news
}

// News of one peer: a notice, a line of its log, or its end.
type news struct {
	rank   int
	notice notice
	line   string
	ended  bool
	err    error // of the end
}

// attend starts a process, reads what it says and waits for its end. It keeps
// its operating system thread until then: a process started with a parent-death
// signal gets it when the thread that started it ends.
func attend(cmd *exec.Cmd, orders <-chan order, from speaker, started chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stdin, stdout, stderr, err := launch(cmd)
	close(started)
	if err == nil {
		gone := make(chan struct{})
		go obey(stdin, orders, gone)
		var readers sync.WaitGroup
		readers.Go(func() { from.readNotices(stdout) })
		readers.Go(func() { from.readLog(stderr) })
		readers.Wait()
		err = cmd.Wait()
		close(gone)
	}
	from.heard <- news{rank: from.rank, ended: true, err: err}
}

func launch(cmd *exec.Cmd) (stdin io.WriteCloser, stdout, stderr io.Reader, err error) {
	if stdin, err = cmd.StdinPipe(); err != nil {
		return
	}
	if stdout, err = cmd.StdoutPipe(); err != nil {
		return
	}
	if stderr, err = cmd.StderrPipe(); err != nil {
		return
	}
	err = cmd.Start()
	return
}

// obey writes the orders of a peer until it is gone. A peer that does not read
// holds up nobody else.
func obey(stdin io.WriteCloser, orders <-chan order, gone <-chan struct{}) {
	defer stdin.Close()
	lines := json.NewEncoder(stdin)
	for {
		select {
		case o := <-orders:
			if lines.Encode(o) != nil {
				return // its end is news of its own
			}
		case <-gone:
			return
		}
	}
}

// readNotices reads a peer's standard output. A line that is no notice was
// written by something that does not know of the protocol: it is logged.
func (f speaker) readNotices(stdout io.Reader) {
	eachLine(stdout, func(line string) {
		var n notice
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			f.heard <- news{rank: f.rank, line: line}
			return
		}
		f.heard <- news{rank: f.rank, notice: n}
	})
}

func (f speaker) readLog(stderr io.Reader) {
	eachLine(stderr, func(line string) { f.heard <- news{rank: f.rank, line: line} })
}

// eachLine calls f for every line of r that is not empty.
func eachLine(r io.Reader, f func(line string)) {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			f(line)
		}
		if err != nil {
			return
		}
	}
}

// kill ends the process at once. It is harmless where there is none any more.
func (p *process) kill() {
	if p.cmd.Process != nil {
		_ = p.cmd.Process.Kill() // fails only if it has ended, which is what is wanted
	}
}

// suspend makes a process hang until it is woken.
func (p *process) suspend() error {
	if p.cmd.Process == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(suspendSignal); err != nil {
		return fmt.Errorf("cannot be made to hang: %w", err)
	}
	p.hangs = true
	return nil
}

// wake lets a process that hangs go on.
func (p *process) wake() {
	if p.hangs {
		p.hangs = false
		_ = p.cmd.Process.Signal(continueSignal) // fails only if it has ended
	}
}

// words keeps a peer's last lines; of a crash the first ones, which say what
// happened, not the stack below them.
type words struct {
	lines   []string
	crashed bool
}

// lastWords is how many lines of a peer's log an error shows.
const lastWords = 6

func (w *words) add(line string) {
	if !w.crashed && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")) {
		w.crashed, w.lines = true, nil
	}
	switch {
	case len(w.lines) < lastWords:
		w.lines = append(w.lines, line)
	case !w.crashed:
		w.lines = append(w.lines[1:], line)
	}
}
