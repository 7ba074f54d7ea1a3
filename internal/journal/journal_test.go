package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire"
	"gossiptrainer/topology"
)

// Exchanges in every second round, of two hops each: slots 0 and 1 are in round 1.
var numbering = gossip.Slots{Every: 2, Hops: 2, Lead: 1}

func message(slot int) gossip.Frame {
	return gossip.Frame{
		Kind: gossip.Data, Round: slot/2*2 + 1, Hop: slot % 2, Note: uint64(slot) << 32,
		Payload: bytes.Repeat([]byte{byte(slot)}, slot%5*10),
	}
}

func repair(slot int, to topology.Rank) gossip.Frame {
	f := message(slot)
	f.Kind, f.To, f.Note, f.Payload = gossip.Repair, to, 0, fmt.Appendf(nil, "%d to %d", slot, to)
	return f
}

func open(t *testing.T, dir string, next int) *Journal {
	t.Helper()
	j, err := Open(dir, numbering, next)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// fill appends the messages of the slots from Next to end, and repairs of each
// third of them for worker 4.
func fill(t *testing.T, j *Journal, end int) {
	t.Helper()
	for slot := nextOf(j); slot < end; slot++ {
		if err := j.Append(message(slot)); err != nil {
			t.Fatal(err)
		}
		if slot%3 == 0 {
			if err := j.Append(repair(slot, 4)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// expect checks that the journal holds the slots from base to next.
func expect(t *testing.T, j *Journal, base, next int) {
	t.Helper()
	if baseOf(j) != base || nextOf(j) != next {
		t.Fatalf("slots %d to %d, want %d to %d", baseOf(j), nextOf(j), base, next)
	}
	for slot := base; slot < next; slot++ {
		f, err := messageOf(j, slot)
		want := message(slot)
		if err != nil || f.Round != want.Round || f.Hop != want.Hop || f.Note != want.Note ||
			!bytes.Equal(f.Payload, want.Payload) {
			t.Errorf("slot %d: %+v, %v, want %+v", slot, f, err, want)
		}
		f, ok, err := j.Find(gossip.Repair, slot, 0, 4)
		if want := repair(slot, 4); err != nil || ok != (slot%3 == 0) || ok &&
			(f.Kind != gossip.Repair || f.To != 4 || !bytes.Equal(f.Payload, want.Payload)) {
			t.Errorf("repair of slot %d: %+v, %v, %v, want %+v", slot, f, ok, err, want)
		}
	}
	for _, slot := range []int{base - 1, next} {
		if _, err := messageOf(j, slot); err == nil {
			t.Errorf("slot %d of %d to %d: no error", slot, base, next)
		}
	}
}

func TestFramesAreReadBack(t *testing.T) {
	j := open(t, t.TempDir(), 0)
	fill(t, j, 30)
	expect(t, j, 0, 30)
	if _, ok, err := j.Find(gossip.Repair, 3, 0, 5); ok || err != nil {
		t.Errorf("a repair for another worker: %v, %v", ok, err)
	}
	if err := j.Append(repair(3, 4)); err != nil {
		t.Errorf("a repair once more: %v", err)
	}
	for name, f := range map[string]gossip.Frame{
		"too late": message(32), "once more": message(29), "a request": {Kind: gossip.Request, Round: 1},
	} {
		if err := j.Append(f); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	expect(t, j, 0, 30)
}

func TestOpenKeepsWhatIsBeforeTheNextSlot(t *testing.T) {
	for next := range 12 {
		dir := t.TempDir()
		j := open(t, dir, 0)
		for _, end := range []int{4, 4, 9, 12} { // several segments
			fill(t, j, end)
			if err := j.Sync(math.MaxInt32); err != nil {
				t.Fatal(err)
			}
		}
		j.Close()
		j = open(t, dir, next)
		expect(t, j, 0, next)
		fill(t, j, next+5)
		j.Close()
		expect(t, open(t, dir, next+5), 0, next+5)
	}
}

// segmented returns a journal of twenty slots, five to a segment.
func segmented(t *testing.T, dir string) *Journal {
	t.Helper()
	j := open(t, dir, 0)
	for _, end := range []int{5, 10, 15} {
		fill(t, j, end)
		if err := j.Sync(math.MaxInt32); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, j, 20)
	return j
}

func TestDropLetsGoOfWholeSegments(t *testing.T) {
	dir := t.TempDir()
	j := segmented(t, dir)
	for _, test := range []struct{ before, base int }{{0, 0}, {4, 0}, {5, 5}, {3, 5}, {12, 10}, {14, 10}, {99, 15}} {
		if err := j.Trim(test.before, math.MaxInt64); err != nil {
			t.Fatal(err)
		}
		expect(t, j, test.base, 20)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d files, want that of the last slots", len(left))
	}
	j.Close()
	expect(t, open(t, dir, 18), 15, 18)
}

func TestLongSegmentsEnd(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, 0)
	big := make([]byte, segmentBytes/2)
	for slot := range 4 {
		f := message(slot)
		f.Payload = big
		if err := j.Append(f); err != nil {
			t.Fatal(err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("%d files for %d bytes, want 2", len(files), 4*len(big))
	}
}

// After any damage to the files, each frame read equals the frame written, and the slots in
// Span have no gap.
func TestDamage(t *testing.T) {
	tests := map[string]struct {
		harm       func(t *testing.T, dir string)
		base, next int
		read       int // first slot that can be read
	}{
		"nothing":                  {func(*testing.T, string) {}, 0, 14, 0},
		"the last one cut off":     {func(t *testing.T, dir string) { cut(t, dir, 2, -1) }, 15, 15, 15},
		"behind the next one":      {func(t *testing.T, dir string) { flip(t, dir, 2, -1) }, 0, 14, 0},
		"first file gone":          {func(t *testing.T, dir string) { remove(t, dir, 0) }, 5, 14, 5},
		"middle file gone":         {func(t *testing.T, dir string) { remove(t, dir, 1) }, 10, 14, 10},
		"last file gone":           {func(t *testing.T, dir string) { remove(t, dir, 2) }, 14, 14, 14},
		"middle file cut":          {func(t *testing.T, dir string) { cut(t, dir, 1, 50) }, 10, 14, 10},
		"a header of the first":    {func(t *testing.T, dir string) { flip(t, dir, 0, 4) }, 5, 14, 5},
		"a payload of the first":   {func(t *testing.T, dir string) { flip(t, dir, 0, 3*wire.HeaderLen+6+3) }, 0, 14, 2},
		"a file that is not ours":  {func(t *testing.T, dir string) { write(t, dir, "frames-7") }, 0, 14, 0},
		"a file that is no frames": {func(t *testing.T, dir string) { write(t, dir, "frames-00000009") }, 0, 14, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			j := open(t, dir, 0)
			for _, end := range []int{5, 10, 15} {
				fill(t, j, end)
				if err := j.Sync(math.MaxInt32); err != nil {
					t.Fatal(err)
				}
			}
			j.Close()
			test.harm(t, dir)
			j = open(t, dir, test.next)
			if baseOf(j) != test.base || nextOf(j) != test.next {
				t.Fatalf("slots %d to %d, want %d to %d", baseOf(j), nextOf(j), test.base, test.next)
			}
			for slot := test.base; slot < test.next; slot++ {
				f, err := messageOf(j, slot)
				switch {
				case err == nil && !bytes.Equal(f.Payload, message(slot).Payload):
					t.Errorf("slot %d: another payload", slot)
				case slot >= test.read && err != nil:
					t.Errorf("slot %d: %v", slot, err)
				case slot == test.read-1 && (!errors.Is(err, wire.ErrChecksum) ||
					!strings.Contains(err.Error(), "frames-00000000")):
					t.Errorf("slot %d: error %v, want the checksum and the file", slot, err)
				}
			}
		})
	}
}

func segmentOf(t *testing.T, dir string, i int) (path string, content []byte) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, files[i].Name())
	if content, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path, content
}

func cut(t *testing.T, dir string, i, to int) {
	path, content := segmentOf(t, dir, i)
	if err := os.WriteFile(path, content[:(to+len(content))%len(content)], 0o600); err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, dir string, i, at int) {
	path, content := segmentOf(t, dir, i)
	content[(at+len(content))%len(content)] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir string, i int) {
	path, _ := segmentOf(t, dir, i)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name string) {
	if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("no frame ", 20)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSyncAndDropAtOnce(t *testing.T) {
	j := open(t, t.TempDir(), 0)
	var syncing sync.WaitGroup
	for end := 5; end <= 100; end += 5 {
		fill(t, j, end)
		syncing.Go(func() {
			if err := j.Sync(math.MaxInt32); err != nil {
				t.Error(err)
			}
		})
		if err := j.Trim(end-10, math.MaxInt64); err != nil {
			t.Fatal(err)
		}
	}
	syncing.Wait()
	expect(t, j, baseOf(j), 100)
}

func TestAppendAllocatesNothingButTheIndex(t *testing.T) {
	j := open(t, t.TempDir(), 0)
	fill(t, j, 1000)
	if err := j.Sync(math.MaxInt32); err != nil {
		t.Fatal(err)
	}
	if err := j.Trim(1000, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	fill(t, j, 1001) // makes the segment
	slot := nextOf(j)
	f := message(slot)
	if n := testing.AllocsPerRun(100, func() {
		f.Round, f.Hop = slot/2*2+1, slot%2
		if err := j.Append(f); err != nil {
			t.Fatal(err)
		}
		slot++
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestErrorsNameTheFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, numbering, 0); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one about the missing folder", err)
	}
}

// A journal opens files with any content. It then finds each frame of its Span or reports
// the damage.
func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	j, err := Open(dir, numbering, 0)
	if err != nil {
		f.Fatal(err)
	}
	for slot := range 4 {
		if err := errors.Join(j.Append(message(slot)), j.Append(repair(slot, 2))); err != nil {
			f.Fatal(err)
		}
	}
	j.Close()
	good, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf(segmentName, 0)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, 4)
	f.Add(good, 2)
	f.Add(good[:len(good)-3], 4)
	f.Add([]byte{}, 7)
	f.Fuzz(func(t *testing.T, content []byte, next int) {
		next &= 1<<20 - 1
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf(segmentName, 3)), content, 0o600); err != nil {
			t.Fatal(err)
		}
		slots := numbering
		slots.Pieces = next % 3
		j, err := Open(dir, slots, next)
		if _, old := errors.AsType[*versionError](err); old {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		if nextOf(j) != next || baseOf(j) > next {
			t.Fatalf("slots %d to %d, want them to end at %d", baseOf(j), nextOf(j), next)
		}
		for slot := baseOf(j); slot < next; slot++ {
			for p := range slots.Parts() {
				f, _, err := j.Find(gossip.Data, slot, p, 0)
				if err == nil && (slots.Of(f.Round, f.Hop) != slot || f.Piece != p) {
					t.Errorf("slot %d piece %d: round %d hop %d piece %d", slot, p, f.Round, f.Hop, f.Piece)
				}
			}
		}
		if err := j.Append(message(next)); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkAppend measures what a round of a model of 100,000 bytes costs.
func BenchmarkAppend(b *testing.B) {
	j, err := Open(b.TempDir(), gossip.Slots{Every: 1, Hops: 1, Lead: 1}, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	f := gossip.Frame{Payload: make([]byte, 100_000)}
	b.SetBytes(int64(len(f.Payload)))
	for ; b.Loop(); f.Round++ {
		if err := j.Append(f); err != nil {
			b.Fatal(err)
		}
		if err := j.Trim(f.Round-100, math.MaxInt64); err != nil {
			b.Fatal(err)
		}
	}
}

func baseOf(j *Journal) int {
	base, _ := j.Span()
	return base
}

func nextOf(j *Journal) int {
	_, next := j.Span()
	return next
}

func messageOf(j *Journal, slot int) (gossip.Frame, error) {
	f, _, err := j.Find(gossip.Data, slot, 0, 0)
	return f, err
}
