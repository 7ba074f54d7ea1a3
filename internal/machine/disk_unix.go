//go:build linux || darwin || freebsd

package machine

import (
	"errors"

	"golang.org/x/sys/unix"
)

// FreeBytes returns how many bytes this user may still write to the disk of dir.
func FreeBytes(dir string) (free int64, known bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}

// IsFull reports whether an error says that a disk is full or a quota is exhausted.
func IsFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
