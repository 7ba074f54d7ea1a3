package checkpoint

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The folder that a checkpoint supersedes is written over by the next one, which is whole all the same.
func TestACheckpointIsWrittenOverAnOldOne(t *testing.T) {
	dir := t.TempDir()
	for round := 10; round <= 50; round += 10 {
		m, s := at(round)
		if err := Write(dir, m, s, 2); err != nil {
			t.Fatal(err)
		}
		found, err := Latest(dir)
		if err != nil || found.Round != round || len(found.Skipped) > 0 {
			t.Fatalf("after round %d: %+v, error %v", round, found, err)
		}
	}
	if got, want := names(t, dir), []string{"round-00000040", "round-00000050"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Count(dir); got != 2 {
		t.Errorf("%d checkpoints, want 2", got)
	}
	if _, err := os.Stat(filepath.Join(dir, spareName)); err != nil {
		t.Errorf("no spare: %v", err)
	}
	if err := Unreserve(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, spareName)); !os.IsNotExist(err) {
		t.Errorf("the spare stays: %v", err)
	}
}

// A spare of a larger state leaves nothing behind in the checkpoint over it.
func TestALargerSpareIsCut(t *testing.T) {
	dir := t.TempDir()
	m, s := at(10)
	if err := Reserve(dir, m, 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, spareName, stateFile), make([]byte, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, spareName, manifestFile), make([]byte, 1<<16), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, m, s, 2); err != nil {
		t.Fatal(err)
	}
	if found, err := Latest(dir); err != nil || found.Round != 10 {
		t.Errorf("%+v, error %v", found, err)
	}
}

// A draft that is dropped gives its spare back, and no reader takes a spare for a checkpoint.
func TestADroppedDraftGivesTheSpareBack(t *testing.T) {
	dir := t.TempDir()
	m, s := at(10)
	if err := Reserve(dir, m, 1<<12); err != nil {
		t.Fatal(err)
	}
	draft, err := Begin(dir, m, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := draft.Drop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, spareName, stateFile)); err != nil {
		t.Errorf("the spare is gone: %v", err)
	}
	if _, there := Newest(dir); there || len(names(t, dir)) > 0 {
		t.Errorf("%v is left", names(t, dir))
	}
}
