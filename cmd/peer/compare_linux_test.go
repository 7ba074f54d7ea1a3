//go:build !race

// Comparisons simulate for minutes under the race detector. Their packages are tried under it by their own tests.

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"gossiptrainer/internal/cells"
)

const killedComparison = `
name: killed
base: ring8
compute: 5ms
networks: [{name: slow, rate: 1mbit, latency: 1ms}, {name: fast}]
algorithms:
  - {label: A, name: dpsgd, bits: 8, set: {output: {every: 5}}}
  - {label: B, name: dpsgd, bits: 1, set: {output: {every: 5}, topology: {slack: "tune(0.1, 0.3)"}}}
seeds: [1]
budget: {rounds: 30}
tuning: {rounds: 30}
report: {targets: {loss: 0.5}}
`

// A comparison is killed while it searches and in its first and second run of cells. When it is started again, it ends
// as one without a disturbance.
func TestKilledComparisonEndsTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "killed.yaml"), []byte(killedComparison), 0o666); err != nil {
		t.Fatal(err)
	}
	compareUntil(t, dir, "quiet", "")
	for _, word := range []string{"tuning B: topology.slack=0.1", "cell 1 of 4", "cell 2 of 4"} {
		compareUntil(t, dir, "killed", word)
	}
	compareUntil(t, dir, "killed", "")
	want, got := resultOf(t, filepath.Join(dir, "quiet")), resultOf(t, filepath.Join(dir, "killed"))
	if !reflect.DeepEqual(want, got) {
		t.Errorf("the results differ:\n%v\n%v", want, got)
	}
	for _, name := range []string{"data/progress.csv", "tables/tables.tex", "figures/loss-slow.svg",
		"figures/bars-fast.svg"} {
		want, err := os.ReadFile(filepath.Join(dir, "quiet", cells.ReportFolder, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "killed", cells.ReportFolder, name)); err != nil ||
			string(got) != string(want) {
			t.Errorf("%s differs, error %v", name, err)
		}
	}
}

const shardedComparison = `
name: sharded
base: ring8
compute: 5ms
networks: [{name: slow, rate: 1mbit, latency: 1ms}, {name: fast}]
algorithms:
  - {label: A, name: dpsgd, bits: 8}
  - {label: B, name: dpsgd, bits: 32}
seeds: [1]
budget: {rounds: 12}
report: {targets: {loss: 2}}
`

// Shards of a comparison, each made in a folder of its own, have together the report of one run. Only the clock tells
// them apart.
func TestMergedShardsHaveTheReportOfOneRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts several processes")
	}
	t.Parallel()
	dir := t.TempDir()
	text := strings.ReplaceAll(shardedComparison, "bits: 8", "bits: 8, set: {output: {every: 2}}")
	text = strings.ReplaceAll(text, "bits: 32", "bits: 32, set: {output: {every: 2}}")
	if err := os.WriteFile(filepath.Join(dir, "sharded.yaml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	peer := func(in string, args ...string) {
		t.Helper()
		in = filepath.Join(dir, in)
		if err := os.MkdirAll(in, 0o777); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("peer", append([]string{"compare", "../sharded.yaml", "-o", "out"}, args...)...)
		cmd.Dir = in
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, said)
		}
	}
	peer("one")
	peer("first", "--shard", "1/2")
	peer("second", "--shard", "2/2")
	peer("merged", "--merge", "../first/out", "--merge", "../second/out")
	made := regexp.MustCompile(`made: +[-0-9T:]+Z`)
	files := func(run string) map[string]string {
		all := map[string]string{}
		root := os.DirFS(filepath.Join(dir, run, "out", cells.ReportFolder))
		if err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, ".pdf") { // which says when it was drawn
				return err
			}
			text, err := fs.ReadFile(root, path)
			all[path] = made.ReplaceAllString(string(text), "made")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	want, got := files("one"), files("merged")
	for path, text := range want {
		if got[path] != text {
			t.Errorf("%s differs from that of one run", path)
		}
	}
	if len(got) != len(want) || len(want) < 10 {
		t.Errorf("%d files, want the %d of one run", len(got), len(want))
	}
}

const manyKills = `
name: killed
base: base.yaml
compute: 5ms
networks: [{name: slow, rate: 1mbit, latency: 1ms}]
algorithms:
  - {label: A, name: dpsgd, bits: 8}
  - {label: B, name: dpsgd, bits: 32}
  - {label: C, name: choco, compressor: {name: qsgd, bits: 8}}
  - {label: D, name: adpsgd, bits: 8}
  - {label: E, name: dpsgd, bits: 8, set: {faults: {script: [{at: 50, kill: 1}, {at: 100, cut: [0, 1], for: 1s},
      {at: 5s, hang: 2, for: 30s}, {at: 300, rate: 100kbit, of: 3, for: 1m}]}}}
  - {label: F, name: adpsgd, bits: 8, set: {faults: {script: [{at: 50, kill: 1, for: 2s}, {at: 8s, cut: [0, 1],
      for: 1s}, {at: 300, slow: 3, by: 2, for: 10s}]}}}
seeds: [1]
budget: {rounds: 400}
report: {targets: {loss: 0.5}}
`

const manyKillsBase = `
name: base
topology: {size: 4}
model: {name: mlp, hidden: [16]}
data: {name: glyphs}
train: {batch: 4}
checkpoint: {every: 20, seconds: 0}
output: {every: 5, evaluate: 100}
`

// stamps are the times at which a report was made.
var stamps = regexp.MustCompile(`made: +[0-9TZ:-]+|(Creation|Mod)Date \(D:[0-9]+\)`)

// A comparison that is killed at random moments has the report of an undisturbed one, byte for byte apart
// from the time at which it was made. Its cells go on from checkpoints. KILLS is the number of kills.
func TestKilledCellsGoOn(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	dir := t.TempDir()
	plan := manyKills
	if os.Getenv("KILLS") == "" { // E and F have the algorithms of A and D, and faults
		plan = regexp.MustCompile(`(?m)^  - {label: [ABD],.*\n`).ReplaceAllString(plan, "")
	}
	for name, text := range map[string]string{"killed.yaml": plan, "base.yaml": manyKillsBase} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	compareUntil(t, dir, "report", "")
	if err := os.Rename(filepath.Join(dir, "report"), filepath.Join(dir, "quiet")); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(uint64(number(t, "KILL_SEED", 1)), 0))
	for range number(t, "KILLS", 2) {
		cmd := exec.Command("peer", "compare", "killed.yaml", "-o", "report")
		cmd.Dir = dir
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(200+random.IntN(800))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // it may have ended
		timer.Stop()
	}
	compareUntil(t, dir, "report", "")
	want := filepath.Join(dir, "quiet", cells.ReportFolder)
	err := filepath.WalkDir(want, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(want, path)
		got, err := os.ReadFile(filepath.Join(dir, "report", cells.ReportFolder, name))
		if !bytes.Equal(stamps.ReplaceAll(text, nil), stamps.ReplaceAll(got, nil)) {
			t.Errorf("%s differs", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// compareUntil runs the comparison into a folder, to its end or until it has said a word: then it is killed.
func compareUntil(t *testing.T, dir, folder, word string) {
	t.Helper()
	cmd := exec.Command("peer", "compare", "killed.yaml", "-o", folder)
	cmd.Dir = dir
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	var all []string
	for lines := bufio.NewScanner(said); lines.Scan(); {
		all = append(all, lines.Text())
		if word != "" && !killed && strings.Contains(lines.Text(), word) {
			killed = true
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); (err != nil) != killed || killed != (word != "") {
		t.Fatalf("until %q: error %v:\n%s", word, err, strings.Join(all, "\n"))
	}
}

// resultOf reads the result of a comparison without what the clock and the command line say.
func resultOf(t *testing.T, folder string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "comparison.json"))
	if err != nil {
		t.Fatal(err)
	}
	var result map[string]any
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	delete(result, "command")
	delete(result, "made")
	cells := result["cells"].([]any)
	if len(cells) != 4 {
		t.Fatalf("%d cells in %s, want 4", len(cells), folder)
	}
	for _, cell := range cells {
		delete(cell.(map[string]any), "wall_s")
	}
	return result
}
