//go:build !linux && !darwin && !freebsd && !windows

package machine

import (
	"errors"
	"syscall"
)

// FreeBytes returns false: on this system the free space is unknown.
func FreeBytes(string) (free int64, known bool) { return 0, false }

// IsFull reports whether an error says that a disk is full.
func IsFull(err error) bool { return errors.Is(err, syscall.ENOSPC) }
