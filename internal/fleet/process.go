package fleet

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

// A process is the supervisor's state of one peer, through all its lives.
type process struct {
	cmd    *exec.Cmd
	orders chan order // written to its standard input in turn; it has room for all of them

	contact Contact
	ready   bool // it has sent its contact, in some life
	seat    seat
	progress
	done      bool     // its work is over
	finished  bool     // and its process has ended
	lost      bool     // the run goes on without it
	failed    bool     // it has reported why it gives up
	dying     *Failure // its report in this life that a new process may succeed
	lastLines lastLines
	lives     int // so far
	deaths    []time.Time
	scripted
}

// A seat is that of a peer among members that come and go.
type seat struct {
	late   bool // it was started while the run went on
	seated bool // it has said its id
	id     int
}

// waits reports whether the peer has come while the run goes on, and no member has given it a place yet.
func (s seat) waits() bool { return s.late && !s.seated }

// progress is the last reported progress of a peer.
type progress struct {
	round int  // of the latest step that it has reported
	begun int  // rounds begun
	holds bool // it begins no further round until the end is known
}

// scripted is the state of a process under a script of faults.
type scripted struct {
	conditions Conditions // last sent to it
	killed     bool       // its end is not reported yet
	down       bool       // it is dead, and must not be started yet
	hangs      bool       // a signal has stopped it
}

// ordersPerLife bounds the orders to a process of n without a script: one of each kind, and one for
// each finished peer.
func ordersPerLife(n int) int { return 4 + n }

// begin starts the process of a rank with some orders. Its notices, log and end are sent to
// news.
func (p *process) begin(rank int, cmd *exec.Cmd, orders chan order, heard chan<- news) {
	p.cmd, p.orders = cmd, orders
	p.lastLines, p.holds, p.dying = lastLines{}, false, nil
	p.lives++
	p.scripted = scripted{}
	cmd.SysProcAttr = attributes()
	started := make(chan struct{})
	go runProcess(cmd, orders, source{rank, heard}, started)
	<-started
}

// A source sends the news of one process.
type source struct {
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

// runProcess starts a process, reads its output and waits for its end. It keeps its operating
// system thread until then: a process with a parent-death signal gets that signal when the
// thread that started it ends.
func runProcess(cmd *exec.Cmd, orders <-chan order, from source, started chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stdin, stdout, stderr, err := startPiped(cmd)
	close(started)
	if err == nil {
		gone := make(chan struct{})
		go writeOrders(stdin, orders, gone)
		var readers sync.WaitGroup
		readers.Go(func() { from.readNotices(stdout) })
		readers.Go(func() { from.readLog(stderr) })
		readers.Wait()
		err = cmd.Wait()
		close(gone)
	}
	from.heard <- news{rank: from.rank, ended: true, err: err}
}

func startPiped(cmd *exec.Cmd) (stdin io.WriteCloser, stdout, stderr io.Reader, err error) {
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

// writeOrders writes the orders of a peer until that is gone. Each peer has a goroutine for it, so
// that a peer that does not read delays no other.
func writeOrders(stdin io.WriteCloser, orders <-chan order, gone <-chan struct{}) {
	defer stdin.Close()
	lines := json.NewEncoder(stdin)
	for {
		select {
		case o := <-orders:
			if lines.Encode(o) != nil {
				return // its end is reported separately
			}
		case <-gone:
			return
		}
	}
}

// readNotices reads a peer's standard output. A line that is no notice comes from code that does not
// know the protocol, so it goes to the log.
func (f source) readNotices(stdout io.Reader) {
	eachLine(stdout, func(line string) {
		var n notice
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			f.heard <- news{rank: f.rank, line: line}
			return
		}
		f.heard <- news{rank: f.rank, notice: n}
	})
}

func (f source) readLog(stderr io.Reader) {
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

// kill ends the process at once, if there is one.
func (p *process) kill() {
	if p.cmd.Process != nil {
		_ = p.cmd.Process.Kill() // fails only if the process has ended already
	}
}

// suspend makes a process hang until wake.
func (p *process) suspend() error {
	if p.cmd.Process == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(suspendSignal); err != nil {
		return fmt.Errorf("cannot stop the process for a hang: %w", err)
	}
	p.hangs = true
	return nil
}

// wake continues a process that hangs.
func (p *process) wake() {
	if p.hangs {
		p.hangs = false
		_ = p.cmd.Process.Signal(continueSignal) // fails only if it has ended
	}
}

// lastLines keeps the last lines of a peer's log. For a crash it keeps the first lines, which name the
// cause, and not the stack below them.
type lastLines struct {
	lines   []string
	crashed bool
}

// maxLastLines is how many lines of a peer's log an error shows.
const maxLastLines = 6

func (w *lastLines) add(line string) {
	if !w.crashed && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")) {
		w.crashed, w.lines = true, nil
	}
	switch {
	case len(w.lines) < maxLastLines:
		w.lines = append(w.lines, line)
	case !w.crashed:
		w.lines = append(w.lines[1:], line)
	}
}
