package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gossiptrainer/internal/record"
)

// A run that only its budget ends: all its rounds would take minutes.
const budgetRun = `
name: endless
topology: {size: 4}
algorithm: {codec: full, bits: 32}
model: {name: quadratic, dim: 50}
train: {rounds: 1000000, step_size: 0.1, momentum: 0, schedule: constant}
output: {dir: out, every: 1}
`

// summaryOf runs a command to its end and returns what it prints.
func summaryOf(t *testing.T, dir string, args ...string) (s record.Summary) {
	t.Helper()
	cmd := exec.Command("peer", append(args, "--json", "--quiet")...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, said.String())
	}
	return s
}

func endless(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "endless.yaml"), []byte(budgetRun), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Real peers that end early end as a simulated run of as many rounds does. The race detector sees two of these, because
// the goroutines that end a run know no algorithm.
func TestALabThatEndsEarlyIsARunOfAsManyRounds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		until string
		set   []string
	}{
		"time":     {"time=200ms", nil},
		"accuracy": {"accuracy=0.5", []string{"model.name=mlp", "model.hidden=[16]", "data.name=glyphs"}},
		"moniqua":  {"loss=2.6", []string{"algorithm.codec=moniqua", "algorithm.bits=4"}},
		"error feedback": {"time=200ms",
			[]string{"algorithm={name: choco, compressor: {name: qsgd, bits: 4, scaled: true}}"}},
		"a directed cycle": {"time=200ms", []string{"algorithm={name: allreduce, bits: 32}"}},
		"local steps":      {"time=200ms", []string{"algorithm.local_steps=3"}},
	} {
		if raced() && name != "time" && name != "accuracy" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir, set := endless(t), []string(nil)
			for _, s := range test.set {
				set = append(set, "--set", s)
			}
			early := summaryOf(t, dir, append([]string{"lab", "endless.yaml", "--until", test.until}, set...)...)
			if early.Ended != test.until || early.Rounds == 0 || early.Steps != 4*early.Rounds {
				t.Fatalf("%d rounds, %d steps, ended by %q", early.Rounds, early.Steps, early.Ended)
			}
			whole := summaryOf(t, dir, append([]string{"sim", "endless.yaml", "--compute", "1ms", "--set",
				fmt.Sprintf("train.rounds=%d", early.Rounds)}, set...)...)
			if whole.Digest != early.Digest || *whole.TrainLoss != *early.TrainLoss ||
				whole.BytesPerPeer.Payload != early.BytesPerPeer.Payload {
				t.Errorf("digest %.8s, loss %v and %d bytes, a simulated run of %d rounds has %.8s, %v and %d",
					early.Digest, *early.TrainLoss, early.BytesPerPeer.Payload, early.Rounds, whole.Digest, *whole.TrainLoss,
					whole.BytesPerPeer.Payload)
			}
		})
	}
}

// The report finds the target reached in the record of a run that ended there.
func TestALabEndsWhereAReportSeesTheTarget(t *testing.T) {
	t.Parallel()
	dir := endless(t)
	for _, set := range []string{"algorithm.name=dpsgd", "algorithm.name=adpsgd"} {
		summary := summaryOf(t, dir, "lab", "endless.yaml", "--until", "loss=2.6", "--set", set, "--set", "output.dir="+set)
		folders, err := filepath.Glob(filepath.Join(dir, set, "endless-*"))
		if err != nil || len(folders) != 1 {
			t.Fatal(folders, err)
		}
		run, err := record.Open(folders[0])
		if err != nil {
			t.Fatal(err)
		}
		if at := run.ReachLoss(2.6); at == nil || at.Time > summary.Time {
			t.Errorf("%s: reached at %+v, in a run of %v s", set, at, summary.Time)
		}
		if summary.Ended != "loss=2.6" {
			t.Errorf("%s: ended by %q", set, summary.Ended)
		}
	}
}

// A run that ended early goes on, or ends at once where the target is on record.
func TestALabThatEndedEarlyGoesOn(t *testing.T) {
	if raced() {
		t.Skip("peers go on in the transcript resume, and end early in other tests")
	}
	t.Parallel()
	dir := endless(t)
	early := summaryOf(t, dir, "lab", "endless.yaml", "--until", "loss=2.6")
	again := summaryOf(t, dir, "lab", "endless.yaml", "--resume", "--until", "loss=2.6")
	if again.Rounds <= early.Rounds || again.Rounds > early.Rounds+2 || again.Ended != "loss=2.6" {
		t.Errorf("%d rounds, ended by %q, want one or two more than %d", again.Rounds, again.Ended, early.Rounds)
	}
	more := summaryOf(t, dir, "lab", "endless.yaml", "--resume", "--until", fmt.Sprintf("time=%gs", again.Time+0.2))
	if whole := summaryOf(t, dir, "sim", "endless.yaml", "--compute", "1ms", "--set",
		fmt.Sprintf("train.rounds=%d", more.Rounds)); more.Rounds <= again.Rounds || whole.Digest != more.Digest {
		t.Errorf("%d rounds after %d, digest %.8s, want %.8s", more.Rounds, again.Rounds, more.Digest, whole.Digest)
	}
}

// Members that may come and go end at the mean of their losses, at one exchange, and the log of views replays to their
// digest.
func TestALabOfMembersEndsAtALoss(t *testing.T) {
	if testing.Short() || raced() {
		t.Skip("starts processes; a slow member is silent for longer than the grace")
	}
	t.Parallel()
	dir := endless(t)
	set := []string{"--set", "membership={mode: view, min: 2, max: 5, grace: 20s}", "--set", "train.step_size=0.001"}
	early := summaryOf(t, dir, append([]string{"lab", "endless.yaml", "--until", "loss=5"}, set...)...)
	loss := *early.TrainLoss
	if early.Ended != "loss=5" || early.Rounds == 0 || early.Peers != 4 || loss <= 0 || loss > 5.5 {
		t.Fatalf("%d rounds, %d members, loss %v, ended by %q", early.Rounds, early.Peers, loss, early.Ended)
	}
	folders, err := filepath.Glob(filepath.Join(dir, "out", "endless-*"))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	replayed := summaryOf(t, dir, "sim", filepath.Join(folders[0], "run.yaml"), "--views", folders[0])
	if replayed.Digest != early.Digest || replayed.Rounds != early.Rounds {
		t.Errorf("digest %.8s after %d rounds, a replay has %.8s after %d", early.Digest, early.Rounds, replayed.Digest,
			replayed.Rounds)
	}
}
