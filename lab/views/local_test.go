package views

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/gossip/view"
	"gossiptrainer/topology"
)

// ownFiles returns the settings of members with files of their own, in folders by ids, and writes them for n members.
func ownFiles(t *testing.T, n int) []string {
	t.Helper()
	dir := t.TempDir()
	for id := range n {
		text := "a,b,label\n"
		for i := range 12 + 4*id {
			text += fmt.Sprintf("%d,%d,%s\n", (id+7*i)%11, (3*id+i)%5, []string{"cat", "dog"}[i%2])
		}
		own := filepath.Join(dir, fmt.Sprint(id))
		if err := os.Mkdir(own, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(own, "d.csv"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"topology.size=3", "train={rounds: 60, batch: 2, step_size: 0.01}", "model={name: logistic}",
		"data={name: file, path: '" + dir + "/{rank}/d.csv', partition: local, labels: [cat, dog], test_share: 0.5}"}
}

// The rows of a member are those of its own files in all views, and the log replays with them. A member without files
// stops the run, and the error names it.
func TestMembersWithFilesOfTheirOwn(t *testing.T) {
	script := "faults.script=[{at: 10, join: 1}, {at: 20, die: 1}, {at: 30, leave: 0}]"
	for _, set := range [][]string{{"algorithm.codec=full"}, {"algorithm.codec=moniqua"},
		{"algorithm.name=gt", "topology.kind=one-peer-exponential"}, {"algorithm.name=allreduce"}} {
		set = append(append(ownFiles(t, 4), "membership.grace=1s", script), set...)
		run := load(t, set)
		o, file := simulate(t, run, Happening{})
		again, err := Replay(load(t, set), file)
		if digest := o.Digest(); err != nil || again.Digest != hex.EncodeToString(digest[:]) || fmt.Sprint(o.IDs) != "[2 3]" {
			t.Errorf("%v: members %v, digest %x, from the log %v, error %v", set, o.IDs, digest, again, err)
		}
		ended, _, err := o.Finals()
		if err != nil {
			t.Fatal(err)
		}
		for rank, want := range []int{10, 12} { // half of the rows of members 2 and 3
			if rows, err := ended.Data().Rows(topology.Rank(rank)); err != nil || rows.Train != want {
				t.Errorf("%v: the member of rank %d has %d rows, want %d, error %v", set, rank, rows.Train, want, err)
			}
		}
	}
	set := append(ownFiles(t, 3), "membership.grace=1s", script)
	_, err := Simulate(t.Context(), load(t, set), Happening{})
	if err == nil || !strings.Contains(err.Error(), "the files of member 3 (machine guest 1): ") {
		t.Errorf("error %v", err)
	}
}

// A machine that comes back has the files of its first life.
func TestOriginOfAMachineThatComesBack(t *testing.T) {
	first := view.Record{Members: []view.Member{{ID: 0, Key: "a"}, {ID: 1, Key: "b"}, {ID: 2}}}
	log, err := view.New(topology.Spec{Kind: topology.Ring, Slack: 1}, first)
	if err != nil {
		t.Fatal(err)
	}
	err = log.Add(view.Record{View: 1, First: 9,
		Members: []view.Member{{ID: 0, Key: "a"}, {ID: 2}, {ID: 3, Key: "b"}, {ID: 4}},
		Dead:    []view.Death{{ID: 1, Last: 4}}, Sponsors: []view.Sponsor{{ID: 3, Sponsor: 0}, {ID: 4, Sponsor: 0}}})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range []view.ID{0, 1, 2, 1, 4} {
		if got := view.Origin(log, view.ID(id)); got != want {
			t.Errorf("member %d: %d, want %d", id, got, want)
		}
	}
}
