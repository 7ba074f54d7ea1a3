package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire"
)

// Messages of three pieces.
var inPieces = gossip.Slots{Every: 2, Hops: 2, Lead: 1, Pieces: 3}

func piece(slot, p int) gossip.Frame {
	f := message(slot)
	f.Piece, f.Payload = p, fmt.Appendf(nil, "%d.%d", slot, p)
	return f
}

func openPieces(t *testing.T, dir string, next int) *Journal {
	t.Helper()
	j, err := Open(dir, inPieces, next)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// fillPieces appends the next pieces, and repairs of each second one for worker 4.
func fillPieces(t *testing.T, j *Journal, count int) {
	t.Helper()
	for range count {
		f := piece(j.next(), j.piece())
		if err := j.Append(f); err != nil {
			t.Fatal(err)
		}
		if f.Piece%2 == 0 {
			f.Kind, f.To, f.Note, f.Payload = gossip.Repair, 4, 0, fmt.Appendf(nil, "repair of %s", f.Payload)
			if err := j.Append(f); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// expectPieces checks that the journal holds all pieces of the slots from base to next.
func expectPieces(t *testing.T, j *Journal, base, next int) {
	t.Helper()
	if baseOf(j) != base || nextOf(j) != next {
		t.Fatalf("slots %d to %d, want %d to %d", baseOf(j), nextOf(j), base, next)
	}
	for slot := base; slot < next; slot++ {
		for p := range inPieces.Pieces {
			want := piece(slot, p)
			f, ok, err := j.Find(gossip.Data, slot, p, 0)
			if err != nil || !ok || f.Round != want.Round || f.Hop != want.Hop || f.Piece != p || f.Note != want.Note ||
				!bytes.Equal(f.Payload, want.Payload) {
				t.Fatalf("slot %d piece %d: %+v, %v, want %+v", slot, p, f, err, want)
			}
			f, ok, err = j.Find(gossip.Repair, slot, p, 4)
			if err != nil || ok != (p%2 == 0) || ok && (f.Piece != p || string(f.Payload) != "repair of "+string(want.Payload)) {
				t.Fatalf("repair of slot %d piece %d: %+v, %v, %v", slot, p, f, ok, err)
			}
		}
	}
}

func TestAMessageCountsWhenItsLastPieceIsThere(t *testing.T) {
	j := openPieces(t, t.TempDir(), 0)
	for n := range 7 {
		expectPieces(t, j, 0, n/3)
		for name, f := range map[string]gossip.Frame{
			"a later piece": piece(n/3, n%3+1), "the same piece of the next message": piece(n/3+1, n%3),
			"an earlier piece": piece(n/3, n%3-1),
		} {
			if err := j.Append(f); err == nil {
				t.Errorf("after %d pieces: %s: no error", n, name)
			}
		}
		fillPieces(t, j, 1)
	}
	for _, p := range []int{-1, 3} {
		if _, _, err := j.Find(gossip.Data, 0, p, 0); err == nil {
			t.Errorf("piece %d of 3: no error", p)
		}
	}
	if _, _, err := j.Find(gossip.Data, 2, 0, 0); err == nil {
		t.Error("a message that is not whole was found")
	}
}

// A worker that dies between two pieces of a message makes all of them again.
func TestAMessageThatIsNotWholeIsDroppedByOpen(t *testing.T) {
	for extra := range 3 {
		dir := t.TempDir()
		j := openPieces(t, dir, 0)
		fillPieces(t, j, 4*3+extra)
		j.Close()
		j = openPieces(t, dir, 4)
		expectPieces(t, j, 0, 4)
		fillPieces(t, j, 5)
		expectPieces(t, j, 0, 5)
		j.Close()
		expectPieces(t, openPieces(t, dir, 5), 0, 5)
	}
}

// No message begins in one file and ends in a file that is gone.
func TestAMessageWithoutItsFirstPiecesIsDropped(t *testing.T) {
	dir := t.TempDir()
	j := openPieces(t, dir, 0)
	for _, pieces := range []int{4, 4, 4, 4} { // a segment ends within the messages 1, 2 and 5
		fillPieces(t, j, pieces)
		if err := j.Sync(math.MaxInt32); err != nil {
			t.Fatal(err)
		}
	}
	fillPieces(t, j, 1)
	expectPieces(t, j, 0, 5)
	if err := j.Trim(2, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	expectPieces(t, j, 2, 5)
	if err := j.Trim(2, 0); err != nil { // also the first pieces of the running message
		t.Fatal(err)
	}
	expectPieces(t, j, 5, 5)
	fillPieces(t, j, 8)
	expectPieces(t, j, 6, 8)
	j.Close()
	expectPieces(t, openPieces(t, dir, 8), 6, 8)
}

// Whatever happens in whatever order, all messages in Span are whole and unharmed.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 1))
		dir := filepath.Join(t.TempDir(), "journal")
		j := openPieces(t, dir, 0)
		for range 60 {
			base, next := j.Span()
			switch random.IntN(8) {
			case 0:
				if err := j.Sync(math.MaxInt32); err != nil {
					t.Fatal(err)
				}
			case 1:
				if err := j.Trim(base+random.IntN(next-base+1), math.MaxInt64); err != nil {
					t.Fatal(err)
				}
			case 2:
				if err := j.Trim(base, int64(random.IntN(2000))); err != nil {
					t.Fatal(err)
				}
			case 3:
				j.Close()
				next -= random.IntN(next - base + 1)
				j = openPieces(t, dir, next)
			default:
				fillPieces(t, j, 1+random.IntN(7))
				_, next = j.Span()
			}
			if base, _ = j.Span(); base > next {
				t.Fatalf("seed %d: slots %d to %d", seed, base, next)
			}
			expectPieces(t, j, base, next)
		}
		j.Close()
	}
}

func TestAJournalOfAnEarlierVersionIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	j := openPieces(t, dir, 0)
	fillPieces(t, j, 4)
	j.Close()
	path, content := segmentOf(t, dir, 0)
	content[4] = 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir, inPieces, 1)
	old, ok := errors.AsType[*versionError](err)
	if !ok || old.Path != path || old.Version != 1 || !strings.Contains(old.Hint(), dir) ||
		!strings.Contains(err.Error(), fmt.Sprintf("version 1, this program reads %d", wire.Version)) {
		t.Errorf("error %v, want the file and both versions", err)
	}
	if _, after := segmentOf(t, dir, 0); !bytes.Equal(after, content) {
		t.Error("the file was changed")
	}
}
