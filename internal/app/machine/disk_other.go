//go:build !linux && !darwin && !freebsd && !windows

package machine

import (
	"errors"
	"syscall"
)

// FreeBytes knows nothing of this system.
func FreeBytes(string) (free int64, known bool) { return 0, false }

// IsFull reports whether an error says that a disk is used up.
func IsFull(err error) bool { return errors.Is(err, syscall.ENOSPC) }
