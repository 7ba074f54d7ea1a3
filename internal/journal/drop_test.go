package journal

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"gossiptrainer/internal/wire"
)

func TestShortenLetsGoOfTheOldest(t *testing.T) {
	dir := t.TempDir()
	j := segmented(t, dir)
	var sizes [4]int64
	total := int64(0)
	for i, s := range j.segments {
		sizes[i] = s.size
		total += s.size
	}
	if j.Appended() != total {
		t.Errorf("%d bytes appended, want %d", j.Appended(), total)
	}
	for _, test := range []struct {
		size    int64
		shorter bool
		base    int
	}{
		{total, false, 0}, {total - 1, true, 5}, {total - sizes[0], false, 5}, {sizes[3] + sizes[2] - 1, true, 15},
		{0, false, 15},
	} {
		before := len(j.segments)
		if err := j.Trim(baseOf(j), test.size); err != nil || len(j.segments) < before != test.shorter {
			t.Errorf("to %d bytes: %d segments of %d, %v, want fewer: %v", test.size, len(j.segments), before, err, test.shorter)
		}
		expect(t, j, test.base, 20)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d files, want that of the last slots", len(left))
	}
}

func TestRemoveLeavesNothingOfItsOwn(t *testing.T) {
	for _, other := range []string{"", "notes"} {
		dir := filepath.Join(t.TempDir(), "journal")
		j := open(t, dir, 0)
		fill(t, j, 5)
		if err := j.Sync(math.MaxInt32); err != nil {
			t.Fatal(err)
		}
		fill(t, j, 9)
		if other != "" {
			write(t, dir, other)
		}
		if err := j.Remove(); err != nil {
			t.Fatal(err)
		}
		left, err := os.ReadDir(dir)
		if gone := os.IsNotExist(err); gone != (other == "") || !gone && (len(left) != 1 || left[0].Name() != other) {
			t.Errorf("with the file %q of others, %v are left, %v", other, left, err)
		}
		expect(t, open(t, dir, 0), 0, 0)
	}
}

func TestRepairsCountAsAppended(t *testing.T) {
	j := open(t, t.TempDir(), 0)
	fill(t, j, 1)
	want := 2*int64(wire.HeaderLen) + int64(len(message(0).Payload)+len(repair(0, 4).Payload))
	if j.Appended() != want {
		t.Errorf("%d bytes, want %d", j.Appended(), want)
	}
}
