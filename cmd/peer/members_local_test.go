package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/app/runfolder"
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
	c := newLANRun(t, localRun, 2, "attic", "shelf", "loft")
	for i, machine := range c.machines {
		c.write(machine, "mine.csv", ownRows(uint64(i), 12+8*i))
	}
	c.start("attic")
	c.start("shelf")
	c.members(2, 2)
	c.start("loft")
	ids := map[string]int{}
	for _, v := range c.members(3, 3) {
		ids[filepath.Base(filepath.Dir(filepath.Dir(v.Folder)))] = v.Member
	}
	dies, leaves := "attic", "shelf"
	if ids["attic"] == 0 { // of two members the older one decides
		dies, leaves = "shelf", "attic"
	}
	c.kill(dies)
	c.members(2, 2)
	c.start(dies) // with the same files and another id
	c.members(3, 3)
	c.leave(leaves)
	c.members(2, 2)
	c.ask("loft", "stop")
	for _, machine := range []string{"loft", dies} {
		c.ends(machine)
	}
	s := c.summary("loft")
	isReplayedWithFiles(t, c, c.folder("loft"), s.Digest, ids)
}

// isReplayedWithFiles replays a log: without the files of others, with some of them, and with all.
func isReplayedWithFiles(t *testing.T, c *lanRun, folder, digest string, ids map[string]int) {
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
