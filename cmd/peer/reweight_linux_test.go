package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

// lossyRun is the run that loses peers: a ring of eight that goes on without those that die.
const lossyRun = `
name: lossy
topology: {size: 8}
model: {name: mlp}
data: {name: glyphs}
train: {rounds: 800, batch: 8}
faults: {on_lost_neighbor: reweight}
output: {dir: out, every: 10}
`

// A lossyLab is a lab of such a run.
type lossyLab struct {
	*longCommand
	t     *testing.T
	said  bytes.Buffer
	ended chan error
}

func startLossy(t *testing.T, args ...string) *lossyLab {
	t.Helper()
	if testing.Short() {
		t.Skip("starts many processes")
	}
	program, err := exec.LookPath("peer")
	if err != nil {
		t.Fatal(err)
	}
	l := &lossyLab{t: t, ended: make(chan error, 1)}
	l.longCommand = &longCommand{Cmd: exec.Command(program,
		append([]string{"lab", "lossy.yaml", "--json", "--quiet"}, args...)...), t: t}
	l.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(l.Dir, "lossy.yaml"), []byte(lossyRun), 0o666); err != nil {
		t.Fatal(err)
	}
	l.Stdout, l.Stderr = &l.stdout, &l.said
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { l.ended <- l.Wait() }()
	return l
}

// events returns the events on record so far.
func (l *lossyLab) events() []record.Event {
	l.t.Helper()
	found, _ := filepath.Glob(filepath.Join(l.Dir, "out", "lossy-*", record.EventsFile))
	if len(found) == 0 {
		return nil
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		l.t.Fatal(err)
	}
	events, err := record.Read(bytes.NewReader(text))
	if err != nil {
		l.t.Fatal(err)
	}
	return events
}

// until waits for something to be on record.
func (l *lossyLab) until(what string, there func(events []record.Event) bool) {
	l.t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for !there(l.events()) {
		select {
		case <-look.C:
		case err := <-l.ended:
			l.t.Fatalf("the run ended (%v) before %s: %s", err, what, l.said.String())
		}
	}
}

func (l *lossyLab) kill(ranks ...int) {
	l.t.Helper()
	processes := l.processes()
	for _, rank := range ranks {
		if processes[rank] == 0 {
			l.t.Fatalf("no process of peer %d among %v", rank, processes)
		}
		syscall.Kill(processes[rank], syscall.SIGKILL)
	}
}

// end waits for the end of the run, checks its record and returns the summary.
func (l *lossyLab) end(lost ...int) record.Summary {
	l.t.Helper()
	if err := <-l.ended; err != nil {
		l.t.Fatalf("%v: %s", err, l.said.String())
	}
	var s record.Summary
	if err := json.Unmarshal(l.stdout.Bytes(), &s); err != nil {
		l.t.Fatal(err)
	}
	if s.Losses == nil || !slices.Equal(s.Losses.Lost, lost) {
		l.t.Fatalf("lost %+v, want %v", s.Losses, lost)
	}
	var gone []int
	for _, g := range s.Gone {
		gone = append(gone, g.Rank)
		if g.Since < 1 || g.Since > s.Rounds {
			l.t.Errorf("peer %d is gone since round %d of %d", g.Rank, g.Since, s.Rounds)
		}
	}
	if !slices.Equal(gone, lost) || len(s.Digest) != 64 {
		l.t.Errorf("gone %v with digest %q, want %v", gone, s.Digest, lost)
	}
	isLost := func(rank int) bool { return slices.Contains(lost, rank) }
	events := l.events()
	views, err := record.Views(events, 8, isLost)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, v := range views {
		if err := v.Check(); err != nil {
			l.t.Error(err)
		}
	}
	// Each edge that was lost counts with at most Lead + 1 = 2.
	cuts := 0
	for _, e := range events {
		if e.Edge != nil && e.Edge.Exchange > 0 && e.Edge.Weight == 0 {
			cuts++
		}
	}
	if n := record.Lopsided(events, views, isLost); n > 2*cuts || n != s.Losses.Lopsided {
		l.t.Errorf("%d exchanges of one end, the summary says %d; %d edges went off", n, s.Losses.Lopsided, cuts)
	}
	l.t.Logf("accuracy %.4f, %d rounds, %d views, %d exchanges of one end", *s.Accuracy.Mean, s.Rounds, s.Losses.Views,
		s.Losses.Lopsided)
	return s
}

// TestARingGoesOnWithoutTwoPeers kills two at once, for good.
func TestARingGoesOnWithoutTwoPeers(t *testing.T) {
	if os.Getenv("PEER_TEST_ALL") == "" {
		t.Skip("the ring that takes back one of two goes on without the other as well; .ci/nightly has both")
	}
	l := startLossy(t)
	l.until("round 100", round(2, 100))
	l.kill(2, 5)
	s := l.end(2, 5)
	if s.Rounds != 800 {
		t.Errorf("%d rounds", s.Rounds)
	}
	undisturbed(t, s)
}

// TestARingTakesBackOneOfTwoPeers kills two at once; one is killed again before it is taken back, and is not started a
// third time.
func TestARingTakesBackOneOfTwoPeers(t *testing.T) {
	l := startLossy(t, "--restart", "1")
	l.until("round 100", round(2, 100))
	l.kill(2, 5)
	l.until("the restart", func(events []record.Event) bool {
		back := 0
		for _, e := range events {
			if e.Status != nil && e.Status.State == record.Returning {
				back++
			}
		}
		return back == 2
	})
	l.untilAlive(5)
	l.kill(5)
	s := l.end(5)
	if s.Rounds != 800 {
		t.Errorf("%d rounds", s.Rounds)
	}
	taken := slices.ContainsFunc(l.events(), func(e record.Event) bool {
		return e.Edge != nil && e.Edge.Rank == 2 && e.Edge.Peer == 2
	})
	if !taken {
		t.Error("no worker took peer 2 back")
	}
	undisturbed(t, s)
}

// untilAlive waits for the process of a peer.
func (l *lossyLab) untilAlive(rank int) {
	l.until("its process", func([]record.Event) bool { return l.processes()[rank] != 0 })
}

// lossless is the simulated run without losses. It is the same for all tests.
var lossless = sync.OnceValues(func() (whole record.Summary, err error) {
	dir, err := os.MkdirTemp("", "lossless")
	if err != nil {
		return whole, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "lossy.yaml"), []byte(lossyRun), 0o666); err != nil {
		return whole, err
	}
	cmd := exec.Command("peer", "sim", "lossy.yaml", "--json", "--quiet")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return whole, err
	}
	return whole, json.Unmarshal(out, &whole)
})

// undisturbed compares the accuracy of a run with losses with that of one without.
func undisturbed(t *testing.T, lossy record.Summary) {
	t.Helper()
	if raced() {
		return // the run to compare with is simulated, for a minute
	}
	whole, err := lossless()
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]*float64{
		"mean":          {lossy.Accuracy.Mean, whole.Accuracy.Mean},
		"average model": {lossy.Accuracy.AverageModel, whole.Accuracy.AverageModel},
	} {
		t.Logf("accuracy, %s: %.4f with losses, %.4f without", name, *pair[0], *pair[1])
		if *pair[0] < *pair[1]-0.02 {
			t.Errorf("accuracy, %s: %.4f with losses, %.4f without", name, *pair[0], *pair[1])
		}
	}
}
