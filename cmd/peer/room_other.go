//go:build !linux && !darwin && !freebsd && !windows

package main

import (
	"errors"
	"syscall"
)

// freeBytes knows nothing of this system.
func freeBytes(string) (free int64, known bool) { return 0, false }

// isFull reports whether an error says that a disk is used up.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) }
