//go:build unix

package screen

import (
	"os"

	"golang.org/x/sys/unix"
)

// inForeground reports whether this process may read the terminal: the system stops a background job that reads.
func inForeground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
