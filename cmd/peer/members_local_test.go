package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/internal/record"
)

// localRun is a run whose members bring files of their own.
const localRun = `
name: crew
membership: {mode: view, min: 1, max: 8, grace: 3s}
topology: {kind: ring, size: 2}
algorithm: {codec: full}
data: {name: file, path: mine.csv, partition: local, labels: [cat, dog], test_share: 0.5}
model: {name: logistic}
train: {rounds: 1000000, batch: 2, step_size: 0.01, momentum: 0, schedule: constant}
output: {dir: out, evaluate: 0}
`

// ownRows are the files of a machine: others have other numbers of other rows.
func ownRows(seed uint64, rows int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	text := "a,b,label\n"
	for i := range rows {
		text += fmt.Sprintf("%.3f,%.3f,%s\n", r.NormFloat64(), r.NormFloat64(), []string{"cat", "dog"}[i%2])
	}
	return []byte(text)
}

// Machines with files of their own found a run, join it, leave it, die and come back. The log replays where all files
// are at hand, in folders by the ids of members. Else the error names the files.
func TestMachinesBringTheirOwnData(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	c := &membersLAN{t, t.TempDir()}
	file := localRun + fmt.Sprintf("node: {join_secret: %016x%016x}\npeers:\n", rand.Uint64(), rand.Uint64())
	machines := []string{"attic", "shelf", "loft"}
	address := map[string]string{}
	for _, machine := range machines {
		address[machine] = (&site{t: t}).freeAddr()
		if machine != "loft" {
			file += fmt.Sprintf("- {id: %s, addrs: [%s]}\n", bytes.TrimSpace(c.ask(machine, "id", "new")), address[machine])
		}
	}
	running, said := map[string]*exec.Cmd{}, map[string]*bytes.Buffer{}
	start := func(machine string) {
		cmd := c.command(machine, "run", "crew.yaml", "--json", "--set", "node.listen=["+address[machine]+"]")
		said[machine] = new(bytes.Buffer)
		cmd.Stdout, cmd.Stderr, running[machine] = said[machine], said[machine], cmd
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for machine, cmd := range running {
			if cmd.ProcessState == nil {
				cmd.Process.Kill()
				cmd.Wait()
			}
			if t.Failed() {
				t.Logf("%s: %s", machine, said[machine])
			}
		}
	})
	for i, machine := range machines {
		dir := c.command(machine).Dir
		for name, text := range map[string][]byte{"crew.yaml": []byte(file), "mine.csv": ownRows(uint64(i), 12+8*i)} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	start("attic")
	start("shelf")
	c.members(2, 2)
	start("loft")
	ids := map[string]int{}
	for _, v := range c.members(3, 3) {
		ids[filepath.Base(filepath.Dir(filepath.Dir(v.Folder)))] = v.Member
	}
	dies, leaves := "attic", "shelf"
	if ids["attic"] == 0 { // of two members the older one decides
		dies, leaves = "shelf", "attic"
	}
	running[dies].Process.Kill()
	running[dies].Wait()
	c.members(2, 2)
	start(dies) // with the same files and another id
	c.members(3, 3)
	if err := running[leaves].Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	running[leaves].Wait()
	c.members(2, 2)
	c.ask("loft", "stop")
	for _, machine := range []string{"loft", dies} {
		if err := running[machine].Wait(); err != nil {
			t.Fatalf("%s: %v", machine, err)
		}
	}
	s := summaryIn(t, said["loft"].Bytes())
	folders, err := filepath.Glob(filepath.Join(c.dir, "loft", "out", "crew-*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("run folders %v, error %v", folders, err)
	}
	isReplayedWithFiles(t, c, folders[0], s.Digest, ids)
}

// summaryIn returns the summary among the lines that a machine has printed.
func summaryIn(t *testing.T, said []byte) (s record.Summary) {
	t.Helper()
	at := bytes.Index(said, []byte("\n{"))
	if err := json.NewDecoder(bytes.NewReader(said[at+1:])).Decode(&s); err != nil || at < 0 || s.Digest == "" {
		t.Fatalf("no summary with a digest in %s, error %v", said, err)
	}
	return s
}

// isReplayedWithFiles replays a log: without the files of others, with some of them, and with all.
func isReplayedWithFiles(t *testing.T, c *membersLAN, folder, digest string, ids map[string]int) {
	t.Helper()
	replay := func(set string) (out, said string) {
		cmd := c.command("loft", "sim", filepath.Join(folder, runfolder.RunFile), "--views", folder, "--json", "--set", set)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		text, _ := cmd.Output() // stderr has the error
		return string(text), stderr.String()
	}
	if _, said := replay("train.batch=2"); !strings.Contains(said, "each member has trained on files of its own") ||
		!strings.Contains(said, "write {rank} for the id of a member in --set data.path=...: 0 for member 0 (machine ") {
		t.Errorf("without the files: %s", said)
	}
	path := filepath.Join(c.dir, "all", "{rank}", "mine.csv")
	for machine, id := range ids {
		to := filepath.Join(c.dir, "all", fmt.Sprint(id))
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(c.dir, machine, "mine.csv"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, "mine.csv"), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	late := filepath.Join(c.dir, "all", "2")
	if err := os.Rename(late, late+"0"); err != nil {
		t.Fatal(err)
	}
	if _, said := replay("data.path=" + path); !strings.Contains(said, "the files of member 2 (machine ") {
		t.Errorf("without the files of member 2: %s", said)
	}
	if err := os.Rename(late+"0", late); err != nil {
		t.Fatal(err)
	}
	if out, said := replay("data.path=" + path); !strings.Contains(out, digest) {
		t.Errorf("the replay: %s%s, want %s", out, said, digest)
	}
}
