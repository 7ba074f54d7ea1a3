package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/lockfile"
)

// lockName is the file in a folder that the process which writes into it locks.
const lockName = "lock"

// lockFolder keeps other processes from writing results into dir until unlock is
// called or this process ends.
func lockFolder(dir string) (unlock func(), err error) {
	lock, err := lockfile.Acquire(filepath.Join(dir, lockName), readable)
	if isA[*lockfile.HeldError](err) {
		return nil, advice.Usage(
			fmt.Errorf("compare: another peer compare is writing into %s", dir),
			"wait until it ends, or choose another folder with -o",
		)
	}
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return func() { _ = lock.Release() }, nil
}

// A lockedError says that a live process uses the folder of a run, or of its
// checkpoints.
type lockedError struct {
	dir string
	err error
}

func (e *lockedError) Error() string { return fmt.Sprintf("%s: %v", e.dir, e.err) }
func (e *lockedError) Unwrap() error { return e.err }
func (e *lockedError) Hint() string {
	return "wait until that process ends, or stop it; two processes cannot write one state"
}

// lockState keeps other processes from the state of a run in dir.
func lockState(dir string) (*lockfile.Lock, error) {
	lock, err := lockfile.Acquire(filepath.Join(dir, lockName), readable)
	if held, ok := errors.AsType[*lockfile.HeldError](err); ok {
		return nil, &lockedError{dir, held}
	}
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	return lock, nil
}
