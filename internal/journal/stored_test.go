package journal

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"gossiptrainer/gossip"
)

func look(t *testing.T, j *Journal, slot, p int) gossip.Frame {
	t.Helper()
	f, err := j.Look(slot, p)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestStoredPiecesAreReadWhenTheyAreNeeded(t *testing.T) {
	j := openPieces(t, t.TempDir(), 0)
	fillPieces(t, j, 3*2)
	for slot := range 2 {
		for p := range inPieces.Pieces {
			f, want := look(t, j, slot, p), piece(slot, p)
			if f.Round != want.Round || f.Hop != want.Hop || f.Piece != p || f.Note != want.Note || f.Payload != nil ||
				f.Stored.Len() != len(want.Payload) {
				t.Fatalf("slot %d piece %d: %+v, want %+v on disk", slot, p, f, want)
			}
			got, err := f.Stored.Read([]byte("before "))
			if err != nil || !bytes.Equal(got, append([]byte("before "), want.Payload...)) {
				t.Errorf("slot %d piece %d: %q, %v, want %q appended", slot, p, got, err, want.Payload)
			}
		}
	}
	for _, at := range [][2]int{{2, 0}, {-1, 0}, {0, 3}, {0, -1}} {
		if _, err := j.Look(at[0], at[1]); err == nil {
			t.Errorf("slot %d piece %d: no error", at[0], at[1])
		}
	}
}

func TestADroppedOrDamagedPieceIsNotRead(t *testing.T) {
	dir := t.TempDir()
	j := openPieces(t, dir, 0)
	fillPieces(t, j, 3*2)
	damaged, dropped := look(t, j, 1, 0), look(t, j, 0, 1)
	path, content := segmentOf(t, dir, 0)
	at := bytes.Index(content, piece(1, 0).Payload)
	content[at] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := damaged.Stored.Read(nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("damaged: error %v, want one that names %s", err, path)
	}
	if err := j.Sync(math.MaxInt32); err != nil {
		t.Fatal(err)
	}
	fillPieces(t, j, 3)
	if err := j.Trim(2, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	if _, err := dropped.Stored.Read(nil); err == nil || !strings.Contains(err.Error(), "slot 0") {
		t.Errorf("dropped: error %v, want one that names the slot", err)
	}
}

func TestPiecesThatAreNotOnDiskAreInMemory(t *testing.T) {
	dir := t.TempDir() + "/journal"
	j := openPieces(t, dir, 0)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	fillPieces(t, j, 3)
	if f := look(t, j, 0, 2); f.Stored != nil || string(f.Payload) != "0.2" {
		t.Errorf("%+v, want its payload in memory", f)
	}
}
