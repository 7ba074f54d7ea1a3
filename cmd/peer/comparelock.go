package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/lockfile"
)

// lockFolder keeps other processes from writing results into dir until unlock is
// called or this process ends.
func lockFolder(dir string) (unlock func(), err error) {
	lock, err := lockfile.Acquire(filepath.Join(dir, "lock"), runfolder.Readable)
	if _, held := errors.AsType[*lockfile.HeldError](err); held {
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
