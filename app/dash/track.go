package dash

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/status"
	"gossiptrainer/internal/record"
)

// The times of a track.
const (
	readEvery  = 250 * time.Millisecond // looks at the end of a record
	checkEvery = time.Second            // looks at processes, the summary and the lock
	tellEvery  = 2 * time.Second        // sentences
)

// A track follows one run: it reads its record and its summary while they grow. Its methods may be called from several
// goroutines.
type track struct {
	id    string
	place runfolder.Place
	ask   func() []status.Answer // the processes of this machine

	mu      sync.Mutex
	tally   *tally
	tail    *tail
	epoch   string // of versions: another one after the record began again
	changed chan struct{}
	standing
	failed string    // why the record cannot be read
	read   float64   // share of the record
	told   time.Time // of the sentences

	done chan struct{} // closed after the last reading
}

// A standing is what the files beside the record say about a run.
type standing struct {
	state   runfolder.State
	mode    string // run, lab or sim, "" while it is not clear
	summary *record.Summary
	stamp   time.Time // of the summary
	about   int64     // version of the last change
}

// newTrack returns a track that follows a run until ctx ends. The last reading comes after that.
func newTrack(ctx context.Context, id string, place runfolder.Place, ask func() []status.Answer) *track {
	t := &track{id: id, place: place, ask: ask, tail: newTail(place.Dir), changed: make(chan struct{}),
		done: make(chan struct{})}
	t.begin()
	go t.follow(ctx)
	return t
}

// begin forgets all that was read.
func (t *track) begin() {
	t.epoch = strconv.FormatUint(rand.Uint64(), 36)
	t.tally = newTally(planOf(t.place))
	t.read, t.standing = 0, standing{state: runfolder.Stopped}
}

// follow reads until ctx ends, and then for the last time.
func (t *track) follow(ctx context.Context) {
	defer close(t.done)
	defer t.tail.close()
	var watching sync.WaitGroup
	watching.Go(func() { t.watch(ctx) })
	reads := time.NewTicker(readEvery)
	defer reads.Stop()
	for ctx.Err() == nil {
		for t.advance() && ctx.Err() == nil {
		}
		select {
		case <-ctx.Done():
		case <-reads.C:
		}
	}
	watching.Wait()
	for t.advance() {
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tally.explain()
	t.tell()
}

// watch checks until ctx ends, and then for the last time. A process that does not answer does not keep follow waiting.
func (t *track) watch(ctx context.Context) {
	checks := time.NewTicker(checkEvery)
	defer checks.Stop()
	for ctx.Err() == nil {
		t.check(time.Now())
		select {
		case <-ctx.Done():
		case <-checks.C:
		}
	}
	t.check(time.Now())
}

// advance reads a chunk of the record, and reports whether there may be more.
func (t *track) advance() (more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := false
	more, err := t.tail.next(func(e record.Event) {
		t.tally.see(e)
		seen = true
	})
	if errors.As(err, new(restartError)) {
		t.begin()
		t.tell()
		return true
	}
	failed := ""
	if err != nil {
		failed = err.Error()
	}
	read := t.tail.share()
	if more {
		read = min(read, 0.999)
	}
	if seen || failed != t.failed || read != t.read {
		t.failed, t.read = failed, read
		t.tell()
	}
	return more
}

// check looks at the processes of the run, at its lock and its summary.
func (t *track) check(now time.Time) {
	held, _ := runfolder.InUse(t.place.Dir) // a folder that is gone is not in use
	var stamp time.Time
	if info, err := os.Stat(filepath.Join(t.place.Dir, record.SummaryFile)); err == nil {
		stamp = info.ModTime()
	}
	var answers []status.Answer
	if held {
		answers = of(t.ask(), t.place.Dir)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	state, summary := runfolder.Stopped, t.summary
	if !stamp.Equal(t.stamp) {
		summary, _ = record.OpenSummary(t.place.Dir) // it appears whole
	}
	switch {
	case held:
		state = runfolder.Running
	case summary != nil:
		state = runfolder.Finished
	}
	mode := t.modeOf(summary, held, len(answers) > 0)
	news := state != t.state || !stamp.Equal(t.stamp) || mode != t.mode
	if news {
		t.standing = standing{state: state, mode: mode, summary: summary, stamp: stamp, about: t.tally.version}
	}
	t.tally.running = held
	if held {
		t.tally.look(answers, now)
	}
	if now.Sub(t.told) >= tellEvery {
		t.told = now
		news = t.tally.explain() || news
	}
	if news || len(answers) > 0 {
		t.tell()
	}
}

// modeOf returns how the run was started. Before its summary says so, a run whose processes do not answer while it
// trains is a simulation.
func (t *track) modeOf(s *record.Summary, running, answers bool) string {
	switch {
	case s != nil:
		return s.Mode
	case t.mode != "" && t.mode != simulated || !running:
		return t.mode
	case runfolder.OfPeer(t.place.Dir):
		return "run"
	case answers:
		return "lab"
	case t.tally.now.moments > 0:
		return simulated
	}
	return t.mode
}

// simulated is the mode of runs on a virtual clock.
const simulated = "sim"

// of returns the answers of the processes of the run in a folder.
func of(all []status.Answer, dir string) []status.Answer {
	var own []status.Answer
	for _, a := range all {
		if same(runfolder.OfMember(a.Folder), dir) {
			own = append(own, a)
		}
	}
	return own
}

// same reports whether two names are those of one folder.
func same(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// tell ends a batch of changes and wakes those that wait for one.
func (t *track) tell() {
	t.tally.settle()
	close(t.changed)
	t.changed = make(chan struct{})
}

// wait returns a channel that is closed at the next change.
func (t *track) wait() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}
