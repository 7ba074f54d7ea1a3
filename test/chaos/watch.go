//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gossiptrainer/internal/record"
)

// A watch follows what the peers of a run record and say, with the time at
// which this process learns it.
type watch struct {
	mu      sync.Mutex
	round   []int        // finished, as last heard; −1: nothing since the process began
	gone    map[int]bool // ranks that do not come back
	lines   []line
	changed chan struct{} // closed and made anew
}

// A line is what a peer, or a supervisor of rank −1, has said.
type line struct {
	at   time.Time
	rank int
	text string
}

func newWatch(peers int) *watch {
	w := &watch{round: make([]int, peers), gone: make(map[int]bool), changed: make(chan struct{})}
	for rank := range w.round {
		w.round[rank] = -1
	}
	return w
}

// update changes what is known and wakes who waits for it.
func (w *watch) update(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	close(w.changed)
	w.changed = make(chan struct{})
}

// until waits for a condition on what is known; it reports whether it came
// about before ctx ended.
func (w *watch) until(ctx context.Context, met func() bool) bool {
	for {
		w.mu.Lock()
		ok, changed := met(), w.changed
		w.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// least returns the rounds that all peers that are left have finished. The caller
// holds mu.
func (w *watch) least() int {
	least := slices.Max(w.round)
	for rank, round := range w.round {
		if !w.gone[rank] {
			least = min(least, round)
		}
	}
	return least
}

// rounds returns how far each peer is.
func (w *watch) rounds() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]int(nil), w.round...)
}

// forget waits for the next life of a peer: what its last one has recorded may
// still be on its way, so it is called when the new process is there.
func (w *watch) forget(rank int) { w.update(func() { w.round[rank] = -1 }) }

// said returns the first line since a time that match accepts.
func (w *watch) said(since time.Time, match func(l line) bool) (line, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lines {
		if !l.at.Before(since) && match(l) {
			return l, true
		}
	}
	return line{}, false
}

// words returns the last lines, for people.
func (w *watch) words(count int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, l := range w.lines[max(0, len(w.lines)-count):] {
		const most = 240
		fmt.Fprintf(&b, "%d: %.*s\n", l.rank, most, l.text)
	}
	return b.String()
}

// listen takes in the standard error of a peer; rank is −1 for that of a
// supervisor, whose lines begin with the rank in brackets where a peer spoke.
func (w *watch) listen(rank int, from io.Reader) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		l := line{time.Now(), rank, lines.Text()}
		if rank < 0 {
			l.rank = bracketed(l.text)
		}
		w.update(func() { w.lines = append(w.lines, l) })
	}
}

// lost returns the rank of the neighbour to which the line says the link is down,
// −1 if it says no such thing.
func (l line) lost() int {
	_, after, ok := strings.Cut(l.text, "neighbour=")
	if !ok || !strings.Contains(l.text, "link down") {
		return -1
	}
	number, _, _ := strings.Cut(after, " ")
	rank, err := strconv.Atoi(number)
	if err != nil {
		return -1
	}
	return rank
}

// bracketed reads the rank at the beginning of "[3] text", −1 if there is none.
func bracketed(text string) int {
	var rank int
	var mark byte
	number, _, ok := strings.Cut(text, "] ")
	if !ok || len(number) < 2 || number[0] != '[' {
		return -1
	}
	for _, c := range []byte(number[1:]) {
		if mark = c; mark < '0' || mark > '9' {
			return -1
		}
		rank = 10*rank + int(mark-'0')
	}
	return rank
}

// pollPeriod is how often records are looked at: with what a peer takes to
// write one it bounds the error of the times in the table.
const pollPeriod = 10 * time.Millisecond

// follow reads the records that match a pattern, as they grow, until ctx ends.
// own is the rank whose events count, −1 for all: a peer's record holds what the
// others have told it as well.
func (w *watch) follow(ctx context.Context, pattern string, own int) {
	read := make(map[string]int64)
	for tick := time.NewTicker(pollPeriod); ; {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			read[path] += w.readMore(path, read[path], own)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
	}
}

// readMore takes in the whole lines of a record from an offset on and returns
// their length.
func (w *watch) readMore(path string, offset int64, own int) int64 {
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, offset, 1<<62))
	if err != nil {
		return 0
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	if len(text) == 0 {
		return 0
	}
	w.update(func() {
		for one := range bytes.Lines(text) {
			var e record.Event
			if json.Unmarshal(one, &e) != nil || e.Step == nil || own >= 0 && e.Step.Rank != own {
				continue
			}
			w.round[e.Step.Rank] = e.Step.Round
		}
	})
	return int64(len(text))
}

// atLeast returns the rounds that all peers have finished.
func (w *watch) atLeast() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.least()
}
