package runfolder

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gossiptrainer/internal/human"
	"gossiptrainer/internal/machine"
)

// A SpaceError says that a disk has no room for the files of a run.
type SpaceError struct {
	Dir  string
	Key  string // of the run file, that names the folder
	What string // has no room on the disk
	Need int64  // bytes
	Err  error  // nil if nothing was tried yet
}

// Short reports whether there is less room than needed.
func (e *SpaceError) Short() bool {
	free, known := machine.FreeBytes(machine.Nearest(e.Dir))
	return known && free < e.Need
}

func (e *SpaceError) Error() string {
	free := "the disk is full"
	if bytes, known := machine.FreeBytes(machine.Nearest(e.Dir)); known {
		free = human.Size(bytes) + " are free"
	}
	return fmt.Sprintf("%s: %s: no room for %s: %s are needed, and %s", e.Key, e.Dir, e.What, human.Size(e.Need), free)
}

func (e *SpaceError) Unwrap() error { return e.Err }

// Hint says what to do.
func (e *SpaceError) Hint() string {
	return "make room, or set " + e.Key + " to a folder on a disk with more"
}

// A Saver writes the results of a run. They have the room that SetAside has set aside. If it is not enough, the saver
// keeps them in memory, reports that once, and tries again until there is room or the command is stopped.
type Saver struct {
	Log     *slog.Logger
	Stopped <-chan struct{} // closed when the command is stopped
	// GiveUp removes what the run has on the disk and the results need more; nil: there is nothing.
	GiveUp func()
	room   *machine.Reserve
	given  sync.Once
	once   sync.Once
}

// SetAside sets room aside for results, until the first of them is saved. The error of a full disk is a copy of
// results, of type *SpaceError.
func (s *Saver) SetAside(results SpaceError) error {
	s.room = machine.NewReserve(results.Dir, results.Need)
	if results.Err = s.room.Take(); !machine.IsFull(results.Err) {
		return results.Err
	}
	return &results
}

// Release frees the room that was set aside.
func (s *Saver) Release() {
	if s != nil {
		s.room.Release()
	}
}

// retryRoom is how long a saver waits for room before it tries again.
const retryRoom = time.Second

// Save calls write until there is room. Meanwhile it shows result to the user. If the command is stopped first, the
// error is a copy of result, of type *SpaceError.
func (s *Saver) Save(result SpaceError, write func() error) error {
	s.Release()
	for first := true; ; first = false {
		result.Err = write()
		if !machine.IsFull(result.Err) {
			return result.Err
		}
		if first && s.GiveUp != nil {
			s.given.Do(s.GiveUp)
			continue // also where another result has given it up meanwhile
		}
		s.once.Do(func() {
			s.Log.Error("no room: results stay in memory until there is some; Ctrl-C gives them up", "why", result.Error())
		})
		select {
		case <-time.After(retryRoom):
		case <-s.Stopped:
			return &result
		}
	}
}
