package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gossiptrainer/internal/machine"
)

// full is what a write on a full disk fails with.
var full = &fs.PathError{Op: "write", Path: "model", Err: syscall.ENOSPC}

func TestASaverWaitsForRoomAndSaysSoOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		s := &Saver{Log: slog.New(slog.NewTextHandler(&said, nil))}
		tries, began := 0, time.Now()
		err := s.Save(SpaceError{Dir: t.TempDir(), Key: "output.dir", What: "a model", Need: 1e6}, func() error {
			if tries++; tries < 4 {
				return full
			}
			return nil
		})
		if err != nil || tries != 4 || time.Since(began) != 3*retryRoom {
			t.Errorf("error %v after %d tries in %v", err, tries, time.Since(began))
		}
		if n := strings.Count(said.String(), "results stay in memory"); n != 1 {
			t.Errorf("it says %d times that there is no room, want once: %s", n, said.String())
		}
	})
}

func TestASaverThatIsStoppedSaysWhatIsMissing(t *testing.T) {
	stopped := make(chan struct{})
	close(stopped)
	s := &Saver{Log: slog.New(slog.DiscardHandler), Stopped: stopped}
	err := s.Save(SpaceError{Dir: t.TempDir(), Key: "output.dir", What: "a model", Need: 800e3},
		func() error { return full })
	space, ok := errors.AsType[*SpaceError](err)
	if !ok || !errors.Is(err, syscall.ENOSPC) ||
		!strings.Contains(err.Error(), "no room for a model: 800 kB are needed, and ") {
		t.Fatalf("error %v", err)
	}
	if hint := space.Hint(); hint != "make room, or set output.dir to a folder on a disk with more" {
		t.Errorf("hint %q", hint)
	}
}

func TestASaverGivesUpWhatFailsOtherwise(t *testing.T) {
	why := errors.New("read-only")
	if err := new(Saver).Save(SpaceError{}, func() error { return why }); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
}

func TestRoomIsThatOfTheFolderAboveOneThatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	if got := machine.Nearest(filepath.Join(dir, "runs", "first")); got != dir {
		t.Errorf("%s, want %s", got, dir)
	}
	e := &SpaceError{Dir: filepath.Join(dir, "runs"), Key: "output.dir", What: "all", Need: 1 << 60}
	if !e.Short() && !strings.Contains(e.Error(), "the disk is full") {
		t.Errorf("an exabyte fits: %v", e)
	}
	if e.Need = 0; e.Short() {
		t.Errorf("nothing does not fit: %v", fmt.Sprint(e))
	}
}
