//go:build linux || darwin

package screen

import (
	"os"

	"golang.org/x/sys/unix"
)

// A keyboard is that of the terminal that a file leads to.
type keyboard struct {
	in    *os.File
	saved *unix.Termios // nil: typed text is shown
}

// hush shows no typed text until restore. Keys that send signals still do.
func (k *keyboard) hush() {
	now, err := unix.IoctlGetTermios(int(k.in.Fd()), getTermios)
	if err != nil {
		return // then typed text is in the way of the table: nothing worse
	}
	silent := *now
	silent.Lflag &^= unix.ECHO | unix.ICANON
	if unix.IoctlSetTermios(int(k.in.Fd()), setTermios, &silent) == nil {
		k.saved = now
	}
}

// restore shows typed text again, and drops what has been typed.
func (k *keyboard) restore() {
	if k.saved != nil {
		_ = unix.IoctlSetTermios(int(k.in.Fd()), setTermios, k.saved)
		k.saved = nil
	}
}
