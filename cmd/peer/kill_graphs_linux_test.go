package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Three peers are killed on a graph that changes from exchange to exchange. The run ends as the simulator says that it
// ends undisturbed. KILLS is the number of kills per graph; KILL_SEED draws the moments and the peers.
func TestKillsOnGraphsThatChange(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	kills := number(t, "KILLS", killsPerRun)
	all := os.Getenv("PEER_TEST_ALL") != "" // the other graphs repeat the last, which opens and closes links as well
	for i, set := range [][]string{
		{"topology.kind=one-peer-exponential", "algorithm.name=dpsgd", "algorithm.bits=4"},
		{"topology.kind=random-matching", "algorithm.name=dpsgd", "algorithm.bits=4"},
		{"topology.kind=random-matching", "algorithm.name=gt", "algorithm.bits=8", "node.open_links=4"},
	} {
		if !all && i < 2 {
			continue
		}
		t.Run(strings.Join(set[:2], " "), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "killed.yaml"), []byte(killedRun), 0o666); err != nil {
				t.Fatal(err)
			}
			want := digestPrinted(t, dir, append([]string{"sim", "killed.yaml"}, overrides(set)...)...)
			// Latency leaves the test time to read the records of a round before the run is over.
			set = append(slices.Clone(set), "limit.latency=5ms")
			random := rand.New(rand.NewPCG(uint64(number(t, "KILL_SEED", 1)), uint64(i)))
			run := &killedLab{t: t, dir: filepath.Join(dir, "lab"), random: random, within: 25}
			got := run.lead(append(overrides(set), "--restart", "100"), kills).Digest
			if len(run.killed) < kills {
				t.Errorf("only killed %v", run.killed)
			}
			if got != want {
				t.Errorf("digest %.8s after %v, want %.8s", got, run.killed, want)
			}
			t.Logf("killed %v, away for %v", run.killed, run.absences)
		})
	}
}
