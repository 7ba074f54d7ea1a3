package journal

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A deleted folder acts like a full disk. Frames in open files remain readable.
func TestWhatTheDiskDoesNotTakeIsHeld(t *testing.T) {
	dir := t.TempDir() + "/journal"
	j := open(t, dir, 0)
	fill(t, j, 5)
	if err := j.Sync(math.MaxInt32); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	fill(t, j, 10)
	expect(t, j, 0, 10)
	err := j.Sync(math.MaxInt32)
	if err == nil || !strings.Contains(err.Error(), "journal: only in memory: 7 frames of ") {
		t.Errorf("error %v, want how many are not safe, and why", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	fill(t, j, 12)
	if err := j.Sync(math.MaxInt32); err != nil {
		t.Fatal(err)
	}
	if len(j.held) > 0 || j.heldSize != 0 {
		t.Errorf("%d frames of %d bytes are still in memory", len(j.held), j.heldSize)
	}
	expect(t, j, 0, 12)
	j.Close()
	expect(t, open(t, dir, 12), 5, 12)
}

// However much the disk does not take, no message is dropped: a neighbour may need each. Messages before a checkpoint
// count as safe without the later ones.
func TestWhatIsHeldIsNeverDropped(t *testing.T) {
	dir := t.TempDir() + "/journal"
	j := open(t, dir, 0)
	fill(t, j, 2)
	if j.Held() != 0 || j.Crowded() {
		t.Errorf("%d bytes are held, although the disk takes them", j.Held())
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	j.writing = nil // a deleted file would take more
	const large = 32 << 20
	for slot := 2; slot < 8; slot++ {
		f := message(slot)
		f.Payload = make([]byte, large)
		if err := j.Append(f); err != nil {
			t.Fatal(err)
		}
	}
	if baseOf(j) != 0 || nextOf(j) != 8 || j.Held() != 6*large || !j.Crowded() {
		t.Errorf("slots %d to %d, %d bytes held, want all", baseOf(j), nextOf(j), j.Held())
	}
	if err := j.Flush(); err == nil {
		t.Error("a folder that is not there takes frames")
	}
	if err := j.Trim(6, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	if baseOf(j) != 6 || j.Held() != 2*large {
		t.Errorf("from slot %d on, %d bytes held, want the last two", baseOf(j), j.Held())
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := j.Flush(); err != nil || j.Held() != 0 || j.Crowded() {
		t.Errorf("error %v, %d bytes held", err, j.Held())
	}
}

// A checkpoint before round 3 needs the messages before it, and no later one.
func TestOnlyMessagesBeforeACheckpointMustBeSafe(t *testing.T) {
	dir := t.TempDir() + "/journal"
	j := open(t, dir, 0)
	fill(t, j, 3)
	if err := j.Sync(3); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf(segmentName, j.number)), 0o700); err != nil { // no file can be there
		t.Fatal(err)
	}
	fill(t, j, 5)
	for round, safe := range map[int]bool{0: true, 3: true, 4: false, 9: false} {
		if err := j.Sync(round); (err == nil) != safe {
			t.Errorf("before round %d: error %v, want that all is safe: %v", round, err, safe)
		}
	}
}

func TestAJournalBeyondItsLimitIsCrowded(t *testing.T) {
	j := open(t, t.TempDir(), 0)
	fill(t, j, 4)
	j.Limit(j.Size())
	if j.Size() != j.Appended() || j.Crowded() {
		t.Errorf("%d bytes of %d appended are crowded at this limit", j.Size(), j.Appended())
	}
	fill(t, j, 5)
	if !j.Crowded() {
		t.Error("it is longer than its limit, and not crowded")
	}
	if err := j.Sync(5); err != nil {
		t.Fatal(err)
	}
	if err := j.Trim(5, math.MaxInt64); err != nil || j.Crowded() || j.Size() != 0 {
		t.Errorf("error %v; %d bytes of nothing", err, j.Size())
	}
}
