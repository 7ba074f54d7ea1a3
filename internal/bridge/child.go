package bridge

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// A child is the running program.
type child struct {
	cmd    *exec.Cmd
	linger time.Duration // for output of processes that have left the group
	pipes  []*pipe
	exited chan struct{} // closed when the program has ended
	silent chan struct{} // closed when its output has been passed on, too

	lock        sync.Mutex
	interrupted bool // by us
	stopTimer   func() bool
	killed      cause
}

// A cause says on whose behalf a program was killed.
type cause int

const (
	alive     cause = iota
	asOrdered       // Kill
	tooSlow         // it did not end in time after an interrupt
)

// A pipe carries one output.
type pipe struct {
	from *os.File
	to   io.Writer
	end  func()
}

// spawn starts the program of the options. The environment says where it calls.
func spawn(o Options, socket []string) (*child, error) {
	c := &child{linger: o.linger, exited: make(chan struct{}), silent: make(chan struct{})}
	c.cmd = exec.Command(o.Command[0], o.Command[1:]...)
	c.cmd.Env = environment(append(os.Environ(), o.Env...), o.PythonPath, socket)
	c.cmd.SysProcAttr = attributes()
	var lock sync.Mutex
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close() // the program has its own copy
		}
	}()
	for _, stream := range []struct {
		to   io.Writer
		file *io.Writer
	}{{o.Out, &c.cmd.Stdout}, {o.Err, &c.cmd.Stderr}} {
		if stream.to == nil {
			continue
		}
		if file, ok := stream.to.(*os.File); ok && o.Rank < 0 && o.Live == nil {
			*stream.file = file // a terminal stays one
			continue
		}
		from, to, err := os.Pipe()
		if err != nil {
			c.closePipes()
			return nil, err
		}
		theirs = append(theirs, to)
		*stream.file = to
		p := &pipe{from: from, to: stream.to, end: func() {}}
		if o.Rank >= 0 || o.Live != nil {
			prefix := ""
			if o.Rank >= 0 {
				prefix = fmt.Sprintf("[%d] ", o.Rank)
			}
			l := newLines(stream.to, prefix, &lock)
			l.live = o.Live
			p.to, p.end = l, l.end
		}
		c.pipes = append(c.pipes, p)
	}
	started := make(chan error)
	go c.live(started)
	if err := <-started; err != nil {
		c.closePipes()
		return nil, fmt.Errorf("start the script: %w: check the command after --", err)
	}
	return c, nil
}

// environment returns the program's environment.
func environment(inherited []string, pythonPath string, socket []string) []string {
	get := func(name string) (value string) {
		for _, entry := range inherited {
			if v, ok := strings.CutPrefix(entry, name+"="); ok {
				value = v // the last one counts
			}
		}
		return value
	}
	env := append(slices.Clip(inherited), socket...)
	if pythonPath != "" {
		if old := get("PYTHONPATH"); old != "" {
			pythonPath += string(os.PathListSeparator) + old
		}
		env = append(env, "PYTHONPATH="+pythonPath)
	}
	if get("PYTHONUNBUFFERED") == "" {
		env = append(env, "PYTHONUNBUFFERED=1") // lines appear when they are printed
	}
	return env
}

// live is the life of the program. It keeps its thread: the kernel takes the death of the thread that started a
// program for the death of its parent.
func (c *child) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.cmd.Start(); err != nil {
		started <- err
		return
	}
	var readers sync.WaitGroup
	for _, p := range c.pipes {
		readers.Go(func() {
			if _, err := io.Copy(p.to, p.from); err != nil {
				_, _ = io.Copy(io.Discard, p.from) // a script must not wait for a terminal that is gone
			}
			p.end()
		})
	}
	started <- nil
	_ = c.cmd.Wait() // its state says all
	c.lock.Lock()
	if c.stopTimer != nil {
		c.stopTimer()
	}
	c.lock.Unlock()
	sweep(c.cmd.Process) // the rest of its group
	close(c.exited)
	for _, p := range c.pipes {
		_ = p.from.SetReadDeadline(time.Now().Add(c.linger))
	}
	readers.Wait()
	c.closePipes()
	close(c.silent)
}

func (c *child) closePipes() {
	for _, p := range c.pipes {
		_ = p.from.Close()
	}
}

// interrupt interrupts the program, once, and kills it when the grace is over.
func (c *child) interrupt(grace time.Duration, after func(time.Duration, func()) (stop func() bool)) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.interrupted || c.ended() {
		return
	}
	c.interrupted = true
	if err := interrupt(c.cmd.Process); err != nil {
		grace = 0
	}
	c.stopTimer = after(grace, func() { c.kill(tooSlow) })
}

// kill ends the program and its group.
func (c *child) kill(why cause) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.ended() {
		return
	}
	if c.killed == alive {
		c.killed = why
	}
	if err := kill(c.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		_ = c.cmd.Process.Kill()
	}
}

func (c *child) ended() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// fate returns whether an interrupt was sent, and on whose behalf the program was killed.
func (c *child) fate() (interrupted bool, killed cause) {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.interrupted, c.killed
}
