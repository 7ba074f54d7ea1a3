//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"gossiptrainer/internal/record"
)

// play runs a scenario with the faults that the seed draws. It returns an error if it cannot play it.
func (r rig) play(ctx context.Context, s scenario) ([]effect, error) {
	t, err := r.trial(s)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(t.dir)
	var want record.Summary
	if s.ends != stopped {
		if want, err = s.undisturbed(ctx, r.peer, t.dir); err != nil {
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
		e := t.strike(ctx, f.drawn(t.rand, s.peers))
		effects = append(effects, e)
		if len(e.broken) > 0 {
			return effects, nil // later effects would only follow from this one
		}
	}
	t.conclude(ctx, want)
	last := &effects[len(effects)-1]
	last.broken = append(last.broken, t.broken...)
	return effects, nil
}

// strike waits for the round of a fault, injects it and observes its effect.
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

// inflict injects a fault and ends it. It returns the time of the end.
func (t *trial) inflict(ctx context.Context, e *effect) (healed time.Time, err error) {
	f := e.fault
	switch f.kind {
	case kill, storm, outage, death:
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

// stormTimes is how often a restart storm kills a peer.
const stormTimes = 5

// murder kills peers and revives them, unless the kill ends the run.
func (t *trial) murder(ctx context.Context, e *effect) (back time.Time, err error) {
	times, victims := 1, []int{e.rank}
	switch e.kind {
	case storm:
		times = stormTimes
	case outage:
		victims = nil
		for rank := range t.peers {
			victims = append(victims, rank)
		}
	}
	for range times {
		if back, err = t.massacre(ctx, e, victims); err != nil || t.ends == stopped {
			return back, err
		}
	}
	return back, nil
}

// massacre kills peers at once, revives them, and waits until they train.
func (t *trial) massacre(ctx context.Context, e *effect, victims []int) (back time.Time, err error) {
	reached := t.watch.rounds()
	old := make(map[int]int)
	for _, rank := range victims {
		if old[rank] = t.site.pid(rank); old[rank] == 0 {
			return time.Time{}, fmt.Errorf("peer %d has no process", rank)
		}
	}
	for _, pid := range old {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return time.Time{}, err
		}
	}
	if e.kind == death {
		t.watch.update(func() { t.watch.gone[e.rank] = true })
		e.lost = "the peer"
	}
	if t.ends == stopped || e.kind == death {
		return time.Now(), nil
	}
	pause(ctx, e.lasts)
	for _, rank := range victims {
		if err := t.site.revive(rank); err != nil {
			return time.Time{}, err
		}
	}
	for _, rank := range victims {
		if back, err = t.reborn(ctx, rank, old[rank]); err != nil {
			return time.Time{}, err
		}
	}
	within, cancel := context.WithTimeout(ctx, t.within)
	defer cancel()
	t.watch.until(within, func() bool { return t.watch.least() >= 0 || t.anyOver() })
	again := 0
	for _, rank := range victims {
		again = max(again, reached[rank]-t.watch.rounds()[rank]+1)
	}
	if t.place == lan { // the record of a lab omits rounds that are on record already
		e.lost = fmt.Sprintf("%d rounds done again", again)
	}
	return back, nil
}

// reborn waits until a peer has a new process.
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

// further is how many more rounds all peers finish after a fault's end before they count as recovered.
const further = 2

// recover waits until all peers train again, and looks for leaks.
func (t *trial) recover(ctx context.Context, e *effect, healed time.Time, before map[int]footprint) {
	goal := min(slices.Max(t.watch.rounds())+further, t.rounds)
	if e.deadly() {
		goal = 0 // a new process counts from its first round
	}
	within, cancel := context.WithTimeout(ctx, t.within)
	defer cancel()
	reached := false
	t.watch.until(within, func() bool { reached = t.watch.least() >= goal; return reached || t.anyOver() })
	if !reached {
		e.broken = append(e.broken, fmt.Sprintf("not all train again within %v: rounds %v:\n%s", t.within, t.watch.rounds(),
			t.watch.words(20)))
		return
	}
	e.recovered = time.Since(healed)
	t.leaks(ctx, e, before)
}

// settle is how many rounds after a fault the leak check waits.
const settle = 50

// spare is the number of extra handles that do not count as a leak: a connection may be opening or closing.
const spare = 4

// spareGoroutines is the same for goroutines: a connection has several.
const spareGoroutines = 5 * spare

// leaks compares the footprints of the peers that survived a fault with those before it.
func (t *trial) leaks(ctx context.Context, e *effect, before map[int]footprint) {
	goal := min(t.watch.atLeast()+settle, t.rounds-1)
	t.watch.until(ctx, func() bool { return t.watch.least() >= goal || t.allOver() })
	for pid, now := range t.footprints() {
		old, known := before[pid]
		if !known {
			continue
		}
		if now.handles > old.handles+spare {
			e.broken = append(e.broken, fmt.Sprintf("process %d holds %d handles, %d before", pid, now.handles, old.handles))
		}
		if old.goroutines > 0 && now.goroutines > old.goroutines+spareGoroutines {
			e.broken = append(e.broken, fmt.Sprintf("process %d has %d goroutines, %d before", pid, now.goroutines,
				old.goroutines))
		}
	}
}
