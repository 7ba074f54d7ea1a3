package runfolder

import (
	"errors"
	"fmt"
	"path/filepath"

	"gossiptrainer/internal/safefile"
)

// lockName is the file that the process which writes into a folder locks.
const lockName = "lock"

// A LockedError says that a live process uses the folder of a run, or of its
// checkpoints.
type LockedError struct {
	dir string
	err error
}

func (e *LockedError) Error() string { return fmt.Sprintf("%s: %v", e.dir, e.err) }
func (e *LockedError) Unwrap() error { return e.err }

// Hint says what to do.
func (e *LockedError) Hint() string {
	return "wait until that process ends, or stop it; two processes cannot write one state"
}

// Lock keeps other processes from the state of a run in dir. The error is a *LockedError
// where another process has it.
func Lock(dir string) (*safefile.Lock, error) {
	lock, err := safefile.Acquire(filepath.Join(dir, lockName), Readable)
	if held, ok := errors.AsType[*safefile.HeldError](err); ok {
		return nil, &LockedError{dir, held}
	}
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	return lock, nil
}

// InUse reports whether a process writes into the folder of a run.
func InUse(dir string) (bool, error) { return safefile.Held(filepath.Join(dir, lockName)) }
