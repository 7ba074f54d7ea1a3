package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

// endlessRun is the run to which a machine comes back: a ring of four that never ends by itself. Latency
// leaves the processors idle.
const endlessRun = `
name: endless
topology: {size: 4}
model: {name: quadratic, dim: 20000}
train: {rounds: 1000000, step_size: 0.1, momentum: 0}
limit: {latency: 10ms}
faults: {on_lost_neighbor: reweight}
`

// A lasting machine is one that is not meant to end by itself.
type lasting struct {
	*lanPeer
	ended chan struct{}
}

// startAt starts the peer of a key, with its record in a folder of its own.
func (s *site) startAt(key int, folder string, args ...string) lasting {
	args = append(args, "--set", "output.dir="+folder, "--set", "output.every=50")
	m := lasting{s.start(key, args...), make(chan struct{})}
	go func() {
		defer close(m.ended)
		m.Wait()
	}()
	return m
}

func (m lasting) kill() {
	m.Process.Kill()
	<-m.ended
}

// recorded waits until something is on record in a folder of a machine.
func (s *site) recorded(m lasting, folder, what string, there func(e []record.Event) bool) {
	s.t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		found, _ := filepath.Glob(filepath.Join(s.dir, folder, "endless-*", record.EventsFile))
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				s.t.Fatal(err)
			}
			whole := text[:bytes.LastIndexByte(text, '\n')+1]
			events, err := record.Read(bytes.NewReader(whole))
			if err != nil {
				s.t.Fatal(err)
			}
			if there(events) {
				return
			}
		}
		select {
		case <-look.C:
		case <-m.ended:
			s.t.Fatalf("ended before %s: %s", what, m.stderr.String())
		}
	}
}

// TestAMachineThatWasDownComesBackByTheSameCommand kills one of four and starts it again as it was started first: it
// trains on with two neighbours.
func TestAMachineThatWasDownComesBackByTheSameCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	s := newSiteOf(t, 4, endlessRun)
	var all []lasting
	for key := range 4 {
		all = append(all, s.startAt(key, "first"+strconv.Itoa(key)))
	}
	defer func() {
		for _, m := range all {
			m.kill()
		}
	}()
	s.recorded(all[2], "first2", "round 50", round(2, 50))
	all[2].kill()
	s.recorded(all[1], "first1", "an edge that is off", func(events []record.Event) bool {
		return slices.ContainsFunc(events, func(e record.Event) bool {
			return e.Edge != nil && e.Edge.Weight == 0 &&
				e.Edge.Peer == 2
		})
	})
	all[2] = s.startAt(2, "second")
	s.recorded(all[2], "second", "a round with both neighbours", func(events []record.Event) bool {
		edges, from := make(map[int]bool), 0
		for i, e := range events {
			switch {
			case e.Edge != nil && e.Edge.Peer == 2:
				edges, from = make(map[int]bool), i // what came before was not yet the place it has got
			case e.Edge != nil:
				edges[e.Edge.Peer] = e.Edge.Weight > 0
			}
		}
		return from > 0 && edges[1] && edges[3] && round(2, 60)(events)
	})
	all[2].kill()
	if said := all[2].stderr.String(); !strings.Contains(said, "taken back into the run") {
		t.Errorf("it does not say that it was taken back: %s", said)
	}
}

// round reports whether a worker has finished round k.
func round(rank, k int) func(events []record.Event) bool {
	return func(events []record.Event) bool {
		return slices.ContainsFunc(events, func(e record.Event) bool {
			return e.Step != nil && e.Step.Rank == rank && e.Step.Round >= k
		})
	}
}
