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

// A watch follows the records and log lines of all peers of a run, with the times at which they arrive here.
type watch struct {
	mu      sync.Mutex
	round   []int        // last finished round on record; −1: none since the process began
	gone    map[int]bool // ranks that do not come back
	lines   []line
	changed chan struct{} // closed and replaced at each change
}

// A line is a log line of a peer, or of a supervisor with rank −1.
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

// update changes the state and wakes all waiters.
func (w *watch) update(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	close(w.changed)
	w.changed = make(chan struct{})
}

// until waits until met holds. It reports false if ctx ends first.
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

// least returns the last round that all surviving peers have finished. The caller holds mu.
func (w *watch) least() int {
	least := slices.Max(w.round)
	for rank, round := range w.round {
		if !w.gone[rank] {
			least = min(least, round)
		}
	}
	return least
}

// rounds returns the last finished round of each peer.
func (w *watch) rounds() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]int(nil), w.round...)
}

// forget clears the round of a peer. Call it when the new process runs, because records of the old one may arrive late.
func (w *watch) forget(rank int) { w.update(func() { w.round[rank] = -1 }) }

// said returns the first line since a time that match accepts, and whether there is one.
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

// words returns the last lines for a report.
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

// listen reads the standard error of a peer. Rank −1 stands for a supervisor, which puts a peer's rank in brackets
// before the peer's lines.
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

// lost returns the rank of the neighbour whose link the line reports as down, or −1.
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

// bracketed reads the rank at the beginning of "[3] text". It returns −1 if there is none.
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

// pollPeriod is the time between two reads of the records. It bounds the error of the times in the table, together with
// the delay of a peer's writes.
const pollPeriod = 10 * time.Millisecond

// follow reads the growing records that match a pattern until ctx ends. Only events of the rank own count, because a
// peer's record also holds events of others; −1 counts all.
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

// readMore reads the complete lines of a record from an offset on and returns their length.
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

// atLeast returns the last round that all peers have finished.
func (w *watch) atLeast() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.least()
}
