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

// A site runs the peers of a scenario and injects faults there.
type site interface {
	house
	view
	// harm begins a fault of the network or the disk and returns a function that ends it.
	harm(f fault) (heal func() error, err error)
	// revive makes sure that a killed peer comes back.
	revive(rank int) error
}

// A house has the peers of a run as long as the run lasts.
type house interface {
	// start starts all peers; w follows them until ctx ends.
	start(ctx context.Context, w *watch) error
	// programs returns the last process of each program that the site itself started.
	programs() []*program
	// close kills the remaining processes and removes all that the site created.
	close()
}

// A view shows single peers from outside.
type view interface {
	// pid returns the process of a peer, 0 if it has none.
	pid(rank int) int
	// goroutines returns the number of goroutines that a peer reports, 0 if it reports none.
	goroutines(rank int) int
	// record returns the pattern of a peer's record files.
	record(rank int) string
}

// A program is a process with its results.
type program struct {
	cmd   *exec.Cmd
	rank  int // −1: of all peers
	out   bytes.Buffer
	ended chan struct{} // closed when the process has ended and all its output was read
}

// launch starts a program; w reads its standard error.
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
		_ = cmd.Wait() // the process state tells how it ended
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

// summary returns the summary that the program printed, or an empty one.
func (p *program) summary() (s record.Summary) {
	_ = json.Unmarshal(p.out.Bytes(), &s) // a program without a summary leaves it empty
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

// pid caches the ids of all peers, because a search must read all processes. It searches again when the cached one is
// gone.
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

// record returns the pattern of the one record that all peers share.
func (s *labSite) record(int) string { return filepath.Join(s.dir, "runs", "*", record.EventsFile) }

// goroutines are unknown: the metrics of a lab would need ports of this machine.
func (s *labSite) goroutines(int) int { return 0 }

func (s *labSite) harm(f fault) (func() error, error) {
	return nil, fmt.Errorf("%s: not in a lab, whose peers share the loopback interface", f.kind)
}

// revive does nothing, because the supervisor restarts peers.
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

// undisturbed returns the result of a run without faults.
func (s scenario) undisturbed(ctx context.Context, peer, dir string) (record.Summary, error) {
	var sum record.Summary
	// outside the records that the watch follows
	args := append([]string{"sim", "ring8", "--json", "--quiet", "--set", "output.dir=undisturbed"}, s.sets()...)
	cmd := exec.CommandContext(ctx, peer, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &sum)
	}
	if err != nil {
		return sum, fmt.Errorf("the run without faults: %w", err)
	}
	return sum, nil
}
