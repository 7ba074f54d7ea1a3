//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"gossiptrainer/internal/record"
)

// A site is where the peers of a run live, and what can be done to them there.
type site interface {
	house
	view
	// harm begins a fault of the network or the disk and returns what ends it.
	harm(f fault) (heal func() error, err error)
	// revive sees to it that a peer that was killed comes back.
	revive(rank int) error
}

// A house has the peers of a run as long as the run lasts.
type house interface {
	// start starts all peers; w follows them until ctx ends.
	start(ctx context.Context, w *watch) error
	// programs are the processes that were started here and not by others, with
	// their last lives.
	programs() []*program
	// close kills what is left and removes what was made.
	close()
}

// A view shows single peers from outside.
type view interface {
	// pid returns the process of a peer, 0 if it has none.
	pid(rank int) int
	// goroutines returns how many a peer says it has, 0 if it does not say.
	goroutines(rank int) int
	// record matches the files where a peer records what it does.
	record(rank int) string
}

// A program is a process with its results.
type program struct {
	cmd   *exec.Cmd
	rank  int // −1: of all peers
	out   bytes.Buffer
	ended chan struct{} // closed when it is gone and all that it said was heard
}

// launch starts a program whose standard error w listens to.
func launch(cmd *exec.Cmd, rank int, w *watch) (*program, error) {
	p := &program{cmd: cmd, rank: rank, ended: make(chan struct{})}
	cmd.Stdout = &p.out
	words, said := io.Pipe()
	cmd.Stderr = said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var listening sync.WaitGroup
	listening.Go(func() { w.listen(rank, words) })
	go func() {
		_ = cmd.Wait() // the state of the process says how it ended
		said.Close()
		listening.Wait()
		w.update(func() { close(p.ended) })
	}()
	return p, nil
}

// over reports whether the program has ended.
func (p *program) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// summary returns what the program says came of the run, nothing if it says
// nothing.
func (p *program) summary() (s record.Summary) {
	_ = json.Unmarshal(p.out.Bytes(), &s) // which then lacks what is asked for
	return s
}

// A labSite is a real "peer lab" in a folder.
type labSite struct {
	scenario scenario
	peer     string // the program
	dir      string
	main     *program
	pids     map[int]int // by rank, as last found
}

func (s *labSite) start(ctx context.Context, w *watch) error {
	args := append([]string{"lab", "ring8", "--json", "-v"}, s.scenario.sets()...)
	cmd := exec.Command(s.peer, args...)
	cmd.Dir = s.dir
	go w.follow(ctx, s.record(-1), -1)
	var err error
	s.main, err = launch(cmd, -1, w)
	return err
}

// pid looks for all peers where it does not find one that it knows: there are
// many processes to look through.
func (s *labSite) pid(rank int) int {
	if pid := s.pids[rank]; pid != 0 && worksIn(pid, s.dir) {
		return pid
	}
	s.pids = make(map[int]int)
	for pid, words := range processesIn(s.dir) {
		i := slices.Index(words, "--rank")
		if i < 0 || i+1 == len(words) || !slices.Contains(words, "--supervised") {
			continue
		}
		if rank, err := strconv.Atoi(words[i+1]); err == nil {
			s.pids[rank] = pid
		}
	}
	return s.pids[rank]
}

// record is one for all.
func (s *labSite) record(int) string { return filepath.Join(s.dir, "runs", "*", record.EventsFile) }

// goroutines are not asked for: the metrics of a lab need ports of this machine.
func (s *labSite) goroutines(int) int { return 0 }

func (s *labSite) harm(f fault) (func() error, error) {
	return nil, fmt.Errorf("%s: not in a lab, whose peers share the loopback interface", f.kind)
}

// revive does nothing: that is the supervisor's duty.
func (s *labSite) revive(int) error { return nil }

func (s *labSite) programs() []*program { return []*program{s.main} }

func (s *labSite) close() {
	if s.main == nil {
		return
	}
	_ = s.main.cmd.Process.Kill() // its peers die with it
	<-s.main.ended
}

// sets returns the settings of a run as arguments of peer.
func (s scenario) sets() []string {
	all := append(base(), fmt.Sprintf("topology.size=%d", s.peers), fmt.Sprintf("train.rounds=%d", s.rounds))
	var args []string
	for _, set := range append(all, s.settings...) {
		args = append(args, "--set", set)
	}
	return args
}

// undisturbed returns what comes of the run where nothing happens.
func (s scenario) undisturbed(ctx context.Context, peer, dir string) (record.Summary, error) {
	var sum record.Summary
	// not among the records that are watched
	args := append([]string{"sim", "ring8", "--json", "--quiet", "--set", "output.dir=undisturbed"}, s.sets()...)
	cmd := exec.CommandContext(ctx, peer, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &sum)
	}
	if err != nil {
		return sum, fmt.Errorf("the undisturbed run: %w", err)
	}
	return sum, nil
}
