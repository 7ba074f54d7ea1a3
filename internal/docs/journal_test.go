package docs

import (
	"os"
	"path/filepath"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/journal"
)

var journals = map[string]decoder{"segment": segment}

func segment(t *testing.T, d document, name string) {
	slots, dir, text := gossip.Slots{Every: 1, Hops: 1, Lead: 1}, t.TempDir(), d.bytes(t, name)
	path := filepath.Join(dir, "frames-00000000")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(dir, slots, 2)
	if err != nil {
		t.Fatal(err)
	}
	base, next := j.Span()
	equal(t, "oldest slot", base, 0)
	equal(t, "next slot", next, 2)
	frames := make([]gossip.Frame, 2)
	for slot := range frames {
		if frames[slot], _, err = j.Find(gossip.Data, slot, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "message of round 0", frames[0].Payload, []byte{1, 2, 3, 4})
	same(t, "message of round 1", frames[1].Payload, []byte{5, 6, 7, 8})
	equal(t, "round", frames[1].Round, 1)
	equal(t, "note", frames[1].Note, 7)
	mending, ok, err := j.Find(gossip.Repair, 0, 0, 2)
	if err != nil || !ok {
		t.Fatalf("repair for worker 2: %v, %v", ok, err)
	}
	same(t, "repair", mending.Payload, []byte{0, 0, 0, 0, 0})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	again := t.TempDir()
	if j, err = journal.Open(again, slots, 0); err != nil {
		t.Fatal(err)
	}
	for _, f := range []gossip.Frame{frames[0], mending, frames[1]} {
		if err := j.Append(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(filepath.Join(again, "frames-00000000"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "segment", made, text)
}
