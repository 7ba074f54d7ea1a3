package journal

import (
	"math"
	"os"
	"strings"
	"testing"
)

// A deleted folder acts like a full disk. Frames in open files remain readable.
func TestWhatTheDiskDoesNotTakeIsHeld(t *testing.T) {
	dir := t.TempDir() + "/journal"
	j := open(t, dir, 0)
	fill(t, j, 5)
	if err := j.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	fill(t, j, 10)
	expect(t, j, 0, 10)
	if err := j.Sync(); err == nil || !strings.Contains(err.Error(), "journal: 7 frames are only in memory: ") {
		t.Errorf("error %v, want how many are not safe, and why", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	fill(t, j, 12)
	if err := j.Sync(); err != nil {
		t.Fatal(err)
	}
	if len(j.held) > 0 || j.heldSize != 0 {
		t.Errorf("%d frames of %d bytes are still in memory", len(j.held), j.heldSize)
	}
	expect(t, j, 0, 12)
	j.Close()
	expect(t, open(t, dir, 12), 5, 12)
}

func TestWhatIsHeldIsBoundedAndDropped(t *testing.T) {
	dir := t.TempDir() + "/journal"
	j := open(t, dir, 0)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for slot := range 8 {
		f := message(slot)
		f.Payload = make([]byte, heldBytes/4)
		if err := j.Append(f); err != nil {
			t.Fatal(err)
		}
	}
	if baseOf(j) != 4 || nextOf(j) != 8 || j.heldSize > heldBytes {
		t.Errorf("slots %d to %d in %d bytes, want the last four", baseOf(j), nextOf(j), j.heldSize)
	}
	if err := j.Trim(6, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	if baseOf(j) != 6 || len(j.held) != 2 || j.heldSize != heldBytes/2 {
		t.Errorf("from slot %d on, %d frames of %d bytes, want the last two", baseOf(j), len(j.held), j.heldSize)
	}
}
