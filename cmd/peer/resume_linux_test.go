package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"gossiptrainer/app/runfolder"
)

// stoppable takes some seconds, for its links are slow.
var stoppable = []string{"--set", "train.rounds=1200", "--set", "limit.latency=2ms", "--set", "checkpoint.every=50"}

var runFolderLine = regexp.MustCompile(`(?m)^next: peer lab (\S+) --resume`)

// Whatever ends a lab, and although the newest checkpoint of a peer is damaged, the run goes on and ends as if nothing
// had been.
func TestAStoppedRunGoesOn(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"Ctrl-C": syscall.SIGINT, "terminated": syscall.SIGTERM} {
		if signal != syscall.SIGINT && os.Getenv("PEER_TEST_ALL") == "" {
			continue // it ends a run in TestASignalEndsARunAndLeavesNothingBehind
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startLong(t, append([]string{"lab", "long.yaml"}, stoppable...)...)
			c.Process.Signal(signal)
			said, code := c.end()
			folder := runFolderLine.FindStringSubmatch(said)
			if code != exitSignal+int(signal) || folder == nil ||
				!strings.Contains(said, "the state at the beginning of round") {
				t.Fatalf("exit code %d; said %q", code, said)
			}
			damage(t, filepath.Join(c.Dir, folder[1], runfolder.Checkpoints, "rank-2"))
			resumed := summaryOf(t, c.Dir, "lab", folder[1], "--resume")
			undisturbed := summaryOf(t, c.Dir, append([]string{"sim", "long.yaml"}, stoppable...)...)
			if resumed.Digest != undisturbed.Digest || resumed.Rounds != 1200 {
				t.Errorf("digest %s after %d rounds, want %s", resumed.Digest, resumed.Rounds, undisturbed.Digest)
			}
		})
	}
}

// damage flips a bit of the newest checkpoint, if there is an older one.
func damage(t *testing.T, dir string) {
	t.Helper()
	states, err := filepath.Glob(filepath.Join(dir, "round-*", "state.safetensors"))
	if err != nil || len(states) == 0 {
		t.Fatalf("%s: checkpoints %q, error %v", dir, states, err)
	}
	if len(states) < 2 {
		return
	}
	newest := states[len(states)-1]
	text, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(newest, text, 0o666); err != nil {
		t.Fatal(err)
	}
}
