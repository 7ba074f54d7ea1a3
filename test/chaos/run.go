//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

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

// play runs a scenario with the faults that the seed draws. An error is what
// kept it from being played.
func (s scenario) play(ctx context.Context, peer string, seed uint64, log func(string, ...any)) ([]effect, error) {
	t, err := s.trial(peer, seed, log)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(t.dir)
	want := ""
	if s.ends == unchanged {
		if want, err = s.undisturbed(ctx, peer, t.dir); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.total())
	defer cancel()
	defer t.site.close()
	if err := t.site.start(ctx, t.watch); err != nil {
		return nil, err
	}
	var effects []effect
	for _, f := range s.faults {
		e := t.strike(ctx, f.drawn(t.rand, s.peers, s.rounds))
		effects = append(effects, e)
	}
	t.conclude(ctx, want)
	last := &effects[len(effects)-1]
	last.broken = append(last.broken, t.broken...)
	return effects, nil
}

// trial prepares to play a scenario, in a folder of its own.
func (s scenario) trial(peer string, seed uint64, log func(string, ...any)) (*trial, error) {
	dir, err := os.MkdirTemp("", "chaos-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, err
	}
	t := &trial{scenario: s, dir: dir, watch: newWatch(s.peers), rand: rand.New(rand.NewPCG(seed, 0)), log: log}
	t.site = s.site(peer, dir, seed)
	return t, nil
}

// site makes the place of a scenario in a folder.
func (s scenario) site(peer, dir string, seed uint64) site {
	if s.place == lab {
		return &labSite{scenario: s, peer: peer, dir: dir}
	}
	return &lanSite{scenario: s, peer: peer, dir: dir, prefix: fmt.Sprintf("chaos%d-", os.Getpid()), seed: seed}
}

// strike waits for the round of a fault, brings it about, and sees what comes of
// it.
func (t *trial) strike(ctx context.Context, f fault) effect {
	e := effect{fault: f, scenario: t.name, noticed: -1, recovered: -1, lost: "nothing"}
	if !t.watch.until(ctx, func() bool { return t.watch.least() >= f.round || t.allOver() }) || t.allOver() {
		e.broken = append(e.broken, "the run did not get to the round of the fault:\n"+t.watch.words(20))
		return e
	}
	before := t.footprints()
	t.log("%s: %v", t.name, f)
	began := time.Now()
	healed, err := t.inflict(ctx, &e)
	if err != nil {
		e.broken = append(e.broken, err.Error())
		return e
	}
	if t.ends == stopped {
		e.lost = "the run"
		over, cancel := context.WithTimeout(ctx, t.within)
		defer cancel()
		if t.watch.until(over, t.allOver) {
			e.recovered = time.Since(began)
		}
	} else {
		t.recover(ctx, &e, healed, before)
	}
	t.judgeNotice(&e, began)
	return e
}

// inflict brings a fault about and ends it. It returns when it was over.
func (t *trial) inflict(ctx context.Context, e *effect) (healed time.Time, err error) {
	f := e.fault
	switch f.kind {
	case kill, storm:
		return t.murder(ctx, e)
	case freeze:
		pid := t.site.pid(f.rank)
		if pid == 0 {
			return time.Time{}, fmt.Errorf("peer %d has no process", f.rank)
		}
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return time.Time{}, err
		}
		pause(ctx, f.lasts)
		return time.Now(), syscall.Kill(pid, syscall.SIGCONT)
	}
	heal, err := t.site.harm(f)
	if err != nil {
		return time.Time{}, err
	}
	pause(ctx, f.lasts)
	return time.Now(), heal()
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

// murder kills a peer and has it come back, unless the run ends of it.
func (t *trial) murder(ctx context.Context, e *effect) (back time.Time, err error) {
	times := 1
	if e.kind == storm {
		times = 5
	}
	for range times {
		pid, reached := t.site.pid(e.rank), t.watch.rounds()[e.rank]
		if pid == 0 {
			return time.Time{}, fmt.Errorf("peer %d has no process", e.rank)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return time.Time{}, err
		}
		if t.ends == stopped {
			return time.Now(), nil
		}
		pause(ctx, e.lasts)
		if err := t.site.revive(e.rank); err != nil {
			return time.Time{}, err
		}
		if back, err = t.reborn(ctx, e.rank, pid); err != nil {
			return time.Time{}, err
		}
		if t.watch.until(ctx, func() bool { return t.watch.round[e.rank] >= 0 || t.allOver() }) {
			e.lost = fmt.Sprintf("%d rounds computed again", max(0, reached-t.watch.rounds()[e.rank]+1))
		}
	}
	return back, nil
}

// reborn waits until a peer has another process.
func (t *trial) reborn(ctx context.Context, rank, old int) (time.Time, error) {
	for ctx.Err() == nil && !t.allOver() {
		if pid := t.site.pid(rank); pid != 0 && pid != old {
			t.watch.forget(rank)
			return time.Now(), nil
		}
		pause(ctx, pollPeriod)
	}
	return time.Time{}, fmt.Errorf("peer %d does not come back:\n%s", rank, t.watch.words(20))
}

// further is how many rounds beyond those at a fault's end all peers finish
// before they count as recovered.
const further = 2

// recover waits until all peers train again, and looks for leaks.
func (t *trial) recover(ctx context.Context, e *effect, healed time.Time, before map[int]footprint) {
	goal := min(slices.Max(t.watch.rounds())+further, t.rounds)
	if e.kind == kill || e.kind == storm {
		goal = 0 // it trains again when it has finished its first round
	}
	within, cancel := context.WithTimeout(ctx, t.within)
	defer cancel()
	if !t.watch.until(within, func() bool { return t.watch.least() >= goal || t.allOver() }) {
		e.broken = append(e.broken, fmt.Sprintf("not all train again %v after the fault: rounds %v:\n%s", t.within, t.watch.rounds(), t.watch.words(20)))
		return
	}
	e.recovered = time.Since(healed)
	t.leaks(ctx, e, before)
}

// settle is how many rounds after a fault the peers are held against what they
// were before it.
const settle = 50

// spare is how many handles more than before are no leak: a connection that is
// being made or let go.
const spare = 4

// leaks holds the peers that have lived through a fault against what they held
// before it.
func (t *trial) leaks(ctx context.Context, e *effect, before map[int]footprint) {
	goal := min(t.watch.atLeast()+settle, t.rounds-1)
	t.watch.until(ctx, func() bool { return t.watch.least() >= goal || t.allOver() })
	for rank := range t.peers {
		pid := t.site.pid(rank)
		old, known := before[pid]
		now, alive := measure(pid)
		if known && alive && now.handles > old.handles+spare {
			e.broken = append(e.broken, fmt.Sprintf("peer %d holds %d handles, %d before", rank, now.handles, old.handles))
		}
	}
}

// footprints returns what the peers hold, by process.
func (t *trial) footprints() map[int]footprint {
	all := make(map[int]footprint)
	for rank := range t.peers {
		pid := t.site.pid(rank)
		if f, ok := measure(pid); ok {
			all[pid] = f
		}
	}
	return all
}

// judgeNotice finds when the others have noticed a fault, and whether that was
// in time.
func (t *trial) judgeNotice(e *effect, began time.Time) {
	l, told := t.watch.said(began, func(l line) bool {
		return !e.strikes(l.rank, t.peers) && (strings.Contains(l.text, "link down") || strings.Contains(l.text, "signal: killed"))
	})
	if told {
		e.noticed = l.at.Sub(began)
	}
	switch {
	case t.noticed == whenever():
	case t.noticed == span{} && told:
		e.broken = append(e.broken, "taken for dead, which it was not: "+l.text)
	case t.noticed != span{} && !told:
		e.broken = append(e.broken, "nobody has noticed")
	case told && (e.noticed < t.noticed.from || e.noticed > t.noticed.to):
		e.broken = append(e.broken, fmt.Sprintf("noticed after %v, want %v to %v", e.noticed, t.noticed.from, t.noticed.to))
	}
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

// conclude waits for the end of the run and judges it.
func (t *trial) conclude(ctx context.Context, want string) {
	if !t.watch.until(ctx, t.allOver) {
		t.broken = append(t.broken, fmt.Sprintf("the run hangs in rounds %v:\n%s", t.watch.rounds(), t.watch.words(20)))
		return
	}
	for _, p := range t.site.programs() {
		code, digest := p.cmd.ProcessState.ExitCode(), p.digest()
		switch {
		case t.ends == stopped && code == 0:
			t.broken = append(t.broken, fmt.Sprintf("process of rank %d ended well, want an error", p.rank))
		case t.ends == unchanged && (code != 0 || digest != want):
			t.broken = append(t.broken, fmt.Sprintf("process of rank %d: exit code %d, digest %.8s, want %.8s:\n%s", p.rank, code, digest, want, t.watch.words(20)))
		}
	}
	if left := processesIn(t.dir); len(left) > 0 {
		t.broken = append(t.broken, fmt.Sprintf("processes left behind: %v", left))
	}
}
