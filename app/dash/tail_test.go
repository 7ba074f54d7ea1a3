package dash

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/internal/record"
)

// rounds reads as long as there is more, and returns the rounds of the steps.
func rounds(t *testing.T, tail *tail) (found []int) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = tail.next(func(e record.Event) { found = append(found, e.Step.Round) })
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func TestAGrowingRecordIsReadOnce(t *testing.T) {
	f := newFolder(t, t.TempDir(), tulip)
	tail := newTail(f.dir)
	defer tail.close()
	if got := rounds(t, tail); got != nil {
		t.Errorf("an empty record has rounds %v", got)
	}
	f.add(stepOf(0, 1), stepOf(0, 2))
	if got := rounds(t, tail); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("rounds %v, want 1 and 2", got)
	}
	f.append(`{"step":{"rank":0,"rou`)
	if got := rounds(t, tail); got != nil || tail.share() >= 1 {
		t.Errorf("half a line has rounds %v, and the share that is read is %v", got, tail.share())
	}
	f.append(`nd":3}}` + "\n")
	f.add(stepOf(0, 4))
	if got := rounds(t, tail); !slices.Equal(got, []int{3, 4}) || tail.share() != 1 {
		t.Errorf("rounds %v, want 3 and 4; share %v", got, tail.share())
	}
}

// A process that goes on cuts the partial line that a killed one left, and writes another one.
func TestAPartialLineIsCut(t *testing.T) {
	f := newFolder(t, t.TempDir(), tulip)
	f.add(stepOf(0, 1))
	f.append(`{"step"`)
	tail := newTail(f.dir)
	defer tail.close()
	rounds(t, tail)
	if err := os.Truncate(tail.path, tail.at); err != nil {
		t.Fatal(err)
	}
	f.add(stepOf(0, 2))
	if got := rounds(t, tail); !slices.Equal(got, []int{2}) {
		t.Errorf("rounds %v, want 2", got)
	}
}

func TestAnotherRecordBeginsAgain(t *testing.T) {
	f := newFolder(t, t.TempDir(), tulip)
	f.add(stepOf(0, 1), stepOf(0, 2))
	tail := newTail(f.dir)
	defer tail.close()
	for name, change := range map[string]func() error{
		"cut": func() error { return os.Truncate(tail.path, 0) },
		"replaced": func() error {
			other := filepath.Join(f.dir, "other")
			text, err := os.ReadFile(tail.path)
			if err == nil {
				err = os.WriteFile(other, text, 0o666)
			}
			return errors.Join(err, os.Rename(other, tail.path))
		},
	} {
		f.add(stepOf(0, 3))
		rounds(t, tail)
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if _, err := tail.next(func(record.Event) {}); !errors.As(err, new(restartError)) {
			t.Errorf("%s: error %v, want that it begins again", name, err)
		}
		f.add(stepOf(0, 7))
		if got := rounds(t, tail); len(got) == 0 || got[len(got)-1] != 7 {
			t.Errorf("%s: then rounds %v, want the last to be 7", name, got)
		}
	}
}

func TestALineThatIsNoEventIsNamed(t *testing.T) {
	f := newFolder(t, t.TempDir(), tulip)
	f.add(stepOf(0, 1))
	f.append("nonsense\n")
	tail := newTail(f.dir)
	defer tail.close()
	_, err := tail.next(func(record.Event) {})
	if err == nil || !strings.Contains(err.Error(), record.EventsFile) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v, want file and line", err)
	}
}

// A record that is longer than one reading comes in pieces, at the ends of lines.
func TestALongRecordComesInPieces(t *testing.T) {
	f := newFolder(t, t.TempDir(), tulip)
	line := `{"status":{"rank":0,"state":"training","detail":"` + strings.Repeat("x", 100_000) + `"}}` + "\n"
	const lines = 50
	f.append(strings.Repeat(line, lines))
	tail := newTail(f.dir)
	defer tail.close()
	seen, pieces := 0, 0
	for more := true; more; pieces++ {
		var err error
		if more, err = tail.next(func(record.Event) { seen++ }); err != nil {
			t.Fatal(err)
		}
	}
	if seen != lines || pieces < 3 {
		t.Errorf("%d events in %d pieces, want %d in several", seen, pieces, lines)
	}
	f.append(strings.Repeat("y", chunk+1))
	if _, err := tail.next(func(record.Event) {}); err == nil || !strings.Contains(err.Error(), "a line of more than") {
		t.Errorf("error %v, want that a line is too long", err)
	}
}
