//go:build !race

// Python takes long to start. A script that dies is tried under the race detector too.

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/internal/record"
)

// A torchLab is a run of a script with PyTorch in a lab, with the record of each round.
type torchLab struct {
	folder  string
	summary record.Summary
}

// trainTorch runs a script from a folder of this repository.
func trainTorch(t *testing.T, python, file string, set []string, script ...string) torchLab {
	t.Helper()
	program, err := exec.LookPath("peer") // TestMain has put it there
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	args := []string{"lab", file, "--json", "--quiet", "--set=output={dir: " + dir + ", every: 1}"}
	for _, s := range set {
		args = append(args, "--set="+s)
	}
	cmd := exec.CommandContext(t.Context(), program, slices.Concat(args, []string{"--", python, "-B"}, script)...)
	cmd.Env = append(os.Environ(), "PEER_DATA=absent", "OMP_NUM_THREADS=1") // the script makes its data
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, said.String())
	}
	var run torchLab
	if err := json.Unmarshal(out, &run.summary); err != nil {
		t.Fatal(err)
	}
	if run.folder = filepath.Join(dir, onlyIn(t, dir)); len(run.summary.Digest) != 64 {
		t.Fatalf("digest %q", run.summary.Digest)
	}
	return run
}

func onlyIn(t *testing.T, dir string) string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d entries in %s, want one: %v", len(found), dir, err)
	}
	return found[0].Name()
}

// falls says that the mean loss of each worker's last steps is below that of its first.
func (r torchLab) falls(t *testing.T) {
	t.Helper()
	file, err := os.Open(filepath.Join(r.folder, record.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	losses := make([][]float64, r.summary.Peers)
	for lines := json.NewDecoder(file); lines.More(); {
		var e record.Event
		if err := lines.Decode(&e); err != nil {
			t.Fatal(err)
		}
		if e.Step != nil {
			losses[e.Step.Rank] = append(losses[e.Step.Rank], e.Step.Loss)
		}
	}
	const few = 3
	for rank, all := range losses {
		if len(all) < 2*few {
			t.Errorf("worker %d has %d losses", rank, len(all))
		} else if first, last := sum(all[:few]), sum(all[len(all)-few:]); !(last < 0.9*first) {
			t.Errorf("worker %d: the mean loss goes from %g to %g", rank, first/few, last/few)
		}
	}
}

func sum(all []float64) (s float64) {
	for _, v := range all {
		s += v
	}
	return s
}

// The script of the documentation sets no seed. Its run has the losses that a reference in one process computes, so all
// that it draws follows from the seed of the run.
func TestTheExampleComputesWhatItsReferenceDoes(t *testing.T) {
	t.Parallel()
	python := torchPython(t)
	const folder = "../../examples/pytorch/"
	set := []string{"topology.size=2", "train.rounds=30", "algorithm.bits=32"}
	run := trainTorch(t, python, folder+"ring8.yaml", set, folder+"train.py")
	run.falls(t)
	reference := exec.CommandContext(t.Context(), python, "-B", "../../studies/script/reference.py", run.folder,
		folder+"train.py", "--within=1e-5")
	reference.Env = append(os.Environ(), "PEER_DATA=absent", "OMP_NUM_THREADS=1")
	out, err := reference.CombinedOutput()
	if want := "2 workers, 30 rounds: "; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%v, want %q:\n%s", err, want, out)
	}
	t.Logf("%s", out)
}

// Every algorithm takes every optimizer of the script. The tests of each change have one without shared rounds, because
// internal/experiment tries scripts with each algorithm. The nightly tests have all pairs, each twice with one digest.
func TestAlgorithmsTakeTheOptimizersOfScripts(t *testing.T) {
	t.Parallel()
	python := torchPython(t)
	all := os.Getenv("PEER_TEST_ALL") != ""
	optimizers := []string{"sgd", "momentum", "adamw"}
	for _, test := range []struct {
		algorithm, optimizer string // the pair that is always tested
		asynchronous         bool
	}{
		{algorithm: "dpsgd"},
		{algorithm: "d2"},
		{algorithm: "choco"},
		{algorithm: "allreduce"},
		{algorithm: "adpsgd", optimizer: "momentum", asynchronous: true},
	} {
		for _, optimizer := range optimizers {
			if !all && optimizer != test.optimizer {
				continue
			}
			t.Run(test.algorithm+" "+optimizer, func(t *testing.T) {
				set := []string{"algorithm.name=" + test.algorithm, "topology.size=2", "train.rounds=20"}
				train := func() torchLab {
					return trainTorch(t, python, "../../examples/pytorch/ring8.yaml", set, "testdata/optimizers.py", optimizer)
				}
				first := train()
				first.falls(t)
				if test.asynchronous || !all {
					return
				}
				if second := train(); first.summary.Digest != second.summary.Digest {
					t.Errorf("digests %s and %s of the same run", first.summary.Digest, second.summary.Digest)
				}
			})
		}
	}
}

// A table that no worker changes does not travel. One that a worker changes reaches all.
func TestBuffersTravelFromWhenTheyChangeOn(t *testing.T) {
	t.Parallel()
	python := torchPython(t)
	const table = 4 * 50_000
	train := func(algorithm string, args ...string) int64 {
		set := []string{"algorithm=" + algorithm, "topology.size=2", "train.rounds=20"}
		script := append([]string{"testdata/buffers.py"}, args...)
		run := trainTorch(t, python, "../../examples/pytorch/ring8.yaml", set, script...)
		return max(run.summary.BytesPerPeer.Payload, run.summary.BytesPerPeer.Stream)
	}
	for _, algorithm := range []string{"{bits: 32}", "{name: adpsgd, bits: 8}"} {
		if sent := train(algorithm); sent > table/2 {
			t.Errorf("%s: a worker sends %d bytes, with a table of %d that never changes", algorithm, sent, table)
		}
	}
	if sent := train("{bits: 8}", "late"); sent < 9*table {
		t.Errorf("a worker sends %d bytes, with a table of %d that changes in round 10 of 20", sent, table)
	}
}
