package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

// Two peers in one working directory, as on NFS, go on in their own folders.
func TestPeersThatShareAFolderGoOnInTheirOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	s := newSite(t)
	both := func(args ...string) (all []record.Summary) {
		first, second := s.start(0, args...), s.start(1, args...)
		for i, m := range []*lanPeer{first, second} {
			if code := m.end(); code != exitOK {
				t.Fatalf("%v: peer %d: exit code %d: %s", args, i, code, m.stderr.String())
			}
			all = append(all, m.summary(t))
		}
		return all
	}
	constant := []string{"--set", "train.schedule=constant"}
	both(constant...)
	longer := append(constant, "--set", "train.rounds=60")
	resumed := both(append(longer, "--resume")...)
	want := summaryOf(t, s.dir, append([]string{"sim", "pair.yaml"}, longer...)...).Digest
	for rank, got := range resumed {
		if got.Digest != want {
			t.Errorf("peer %d: digest %.8s, want %.8s", rank, got.Digest, want)
		}
	}
	dirs, err := filepath.Glob(filepath.Join(s.dir, "out", "pair-*"))
	if err != nil || len(dirs) != 3 { // one of the simulator
		t.Fatalf("run folders %q, error %v, want 3", dirs, err)
	}
}

const refusedRun = `
name: endless
topology: {size: 2}
model: {name: quadratic, dim: 2000}
train: {rounds: 1000000, step_size: 0.1, momentum: 0, schedule: constant}
checkpoint: {every: 20, seconds: 0}
`

// A peer that died and is started without --resume is refused. That start leaves nothing, its hint names --resume, and
// --resume goes on.
func TestARefusedStartLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	s := newSiteOf(t, 2, refusedRun)
	waiting, dead := s.startAt(0, "zero"), s.startAt(1, "one")
	defer waiting.kill()
	defer func() { dead.kill() }()
	s.recorded(dead, "one", "round 8000", round(1, 8000)) // the neighbour's log does not reach back to round 0
	dead.kill()
	again := s.startAt(1, "one")
	select {
	case <-again.ended:
	case <-time.After(time.Minute):
		again.kill()
	}
	code, said := again.ProcessState.ExitCode(), again.stderr.String()
	if code != exitNetwork || !strings.Contains(said, "lost its place") {
		t.Fatalf("exit code %d: %s", code, said)
	}
	if !strings.Contains(said, "hint: peer run --resume pair.yaml ") ||
		!strings.Contains(said, " goes on from the checkpoint in one") {
		t.Errorf("the hint does not lead on: %s", said)
	}
	folders, err := os.ReadDir(filepath.Join(s.dir, "one"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("%d run folders, want 1 (%v)", len(folders), err)
	}
	events := filepath.Join(s.dir, "one", folders[0].Name(), record.EventsFile)
	before, err := os.Stat(events)
	if err != nil {
		t.Fatal(err)
	}
	dead = s.startAt(1, "one", "--resume")
	s.recorded(dead, "one", "new rounds", func([]record.Event) bool {
		now, err := os.Stat(events)
		return err == nil && now.Size() > before.Size()
	})
}
