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

// A rig is what scenarios are played with.
type rig struct {
	peer string // the program
	seed uint64 // draws whom a fault strikes, and when
	log  func(format string, args ...any)
}

// A trial is one scenario as it is played once.
type trial struct {
	scenario
	dir   string // of its own
	site  site
	watch *watch
	rand  *rand.Rand
	log   func(format string, args ...any)

	broken []string // invariants that did not hold
}

// An effect is what came of one fault: a row of the table.
type effect struct {
	fault
	scenario  string
	noticed   time.Duration // until a neighbour said so; < 0: none did
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

// site makes the place of a scenario in a folder.
func (r rig) site(s scenario, dir string) site {
	if s.place == lab {
		return &labSite{scenario: s, peer: r.peer, dir: dir}
	}
	return &lanSite{scenario: s, peer: r.peer, dir: dir, prefix: fmt.Sprintf("chaos%d-", os.Getpid()), seed: r.seed}
}

// total bounds a whole run, which does not hang: the faults and what peers may
// take to get over them, and three times what the rounds take where the machine
// has other things to do.
func (s scenario) total() time.Duration {
	total := 60*time.Second + time.Duration(s.rounds)*30*time.Millisecond
	for _, f := range s.faults {
		total += f.lasts + s.within
	}
	return total
}

// footprints returns what the peers hold, by process.
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

// anyOver reports whether a program of the run has ended that should not. The caller
// holds the lock of the watch.
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
