//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A rig holds the settings of all scenarios.
type rig struct {
	peer string // the program
	seed uint64 // decides which peer a fault hits and when
	log  func(format string, args ...any)
}

// A trial is one run of a scenario.
type trial struct {
	scenario
	dir   string // its own folder
	site  site
	watch *watch
	rand  *rand.Rand
	log   func(format string, args ...any)

	broken []string // invariants that did not hold
}

// An effect is the observed effect of one fault.
type effect struct {
	fault
	scenario  string
	noticed   time.Duration // until a neighbour logged it; < 0: none did
	recovered time.Duration // from the fault's end until all train again; < 0: never
	lost      string
	broken    []string
}

// trial prepares to play a scenario, in a folder of its own.
func (r rig) trial(s scenario) (*trial, error) {
	dir, err := os.MkdirTemp("", "chaos-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, err
	}
	t := &trial{scenario: s, dir: dir, watch: newWatch(s.peers), rand: rand.New(rand.NewPCG(r.seed, 0)), log: r.log}
	t.site = r.site(s, dir)
	return t, nil
}

// site creates the site of a scenario in a folder.
func (r rig) site(s scenario, dir string) site {
	if s.place == lab {
		return &labSite{scenario: s, peer: r.peer, dir: dir}
	}
	return &lanSite{scenario: s, peer: r.peer, dir: dir, prefix: fmt.Sprintf("chaos%d-", os.Getpid()), seed: r.seed}
}

// total bounds the time of a whole run, to detect a run that hangs. It adds the faults, the recovery times and three
// times the time of the rounds on a busy machine.
func (s scenario) total() time.Duration {
	total := 60*time.Second + time.Duration(s.rounds)*30*time.Millisecond
	for _, f := range s.faults {
		total += f.lasts + s.within
	}
	return total
}

// footprints returns the footprints of the peers by process id.
func (t *trial) footprints() map[int]footprint {
	all := make(map[int]footprint)
	for rank := range t.peers {
		pid := t.site.pid(rank)
		if f, ok := measure(pid); ok {
			f.goroutines = t.site.goroutines(rank)
			all[pid] = f
		}
	}
	return all
}

// anyOver reports whether a program of the run has ended too early. The caller holds the lock of the watch.
func (t *trial) anyOver() bool {
	return slices.ContainsFunc(t.site.programs(),
		func(p *program) bool { return p != nil && p.over() && !t.watch.gone[p.rank] })
}

// allOver reports whether no program of the run is left.
func (t *trial) allOver() bool {
	for _, p := range t.site.programs() {
		if p == nil || !p.over() {
			return false
		}
	}
	return true
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
