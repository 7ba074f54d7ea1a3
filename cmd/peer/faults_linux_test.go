package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scriptedRun is a run of eight peers with twenty faults of all kinds. They last so long that real peers notice.
const scriptedRun = `
name: scripted
topology: {size: 8}
model: {name: mlp, hidden: [16]}
train: {rounds: 150, batch: 8}
checkpoint: {every: 17, seconds: 0}
output: {dir: out}
faults:
  script:
    - {at: 0, slow: 0, by: 3, for: 500ms}
    - {at: 5, kill: 3}
    - {at: 12, cut: [0, 1], for: 300ms}
    - {at: 19, hang: 6, for: 200ms}
    - {at: 24, kill: 7, for: 400ms}
    - {at: 24, kill: 0}
    - {at: 33, partition: [[0, 1, 2, 3]], for: 300ms}
    - {at: 40, rate: 2mbit, of: 2, for: 500ms}
    - {at: 47, kill: 2}
    - {at: 50, cut: [5, 6], for: 100ms}
    - {at: 61, hang: 1, for: 300ms}
    - {at: 62, cut: [7, 0], for: 200ms}
    - {at: 75, kill: 5}
    - {at: 82, slow: 4, by: 5, for: 300ms}
    - {at: 90, partition: [[1], [4, 5], [7]], for: 200ms}
    - {at: 99, kill: 6, for: 100ms}
    - {at: 105, hang: 3, for: 100ms}
    - {at: 120, kill: 1}
    - {at: 500ms, cut: [2, 3], for: 200ms}
    - {at: 1s, hang: 4, for: 200ms}
`

// One script is played by the simulator and on real processes. Both end as the run in which nothing happens.
func TestAScriptInTheSimulatorAndInTheLab(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "scripted.yaml"), []byte(scriptedRun), 0o666); err != nil {
		t.Fatal(err)
	}
	if faults := strings.Count(scriptedRun, "{at:"); faults != 20 {
		t.Fatalf("%d faults in the script, want 20", faults)
	}
	set := overrides(killedAlgorithms[1])
	want := digestPrinted(t, dir, append([]string{"sim", "scripted.yaml", "--set", "faults.script=[]"}, set...)...)
	modes := []string{"lab", "sim"}
	if raced() { // internal/sim plays scripts under the race detector
		modes = modes[:1]
	}
	for _, mode := range modes {
		if got := digestPrinted(t, dir, append([]string{mode, "scripted.yaml"}, set...)...); got != want {
			t.Errorf("%s with the script: digest %.8s, want %.8s", mode, got, want)
		}
	}
}
