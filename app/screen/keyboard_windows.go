package screen

import (
	"os"

	"golang.org/x/sys/windows"
)

// A keyboard is that of the console that a file leads to.
type keyboard struct {
	in    *os.File
	saved uint32 // 0: typed text is shown
}

// hush shows no typed text until restore, and makes the console understand escape codes. Ctrl-C still works.
func (k *keyboard) hush() {
	var mode uint32
	console := windows.Handle(k.in.Fd())
	if windows.GetConsoleMode(console, &mode) == nil &&
		windows.SetConsoleMode(console, mode&^(windows.ENABLE_ECHO_INPUT|windows.ENABLE_LINE_INPUT)) == nil {
		k.saved = mode
	}
	screen := windows.Handle(os.Stderr.Fd())
	if windows.GetConsoleMode(screen, &mode) == nil {
		_ = windows.SetConsoleMode(screen, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
	}
}

// restore shows typed text again, and drops what has been typed.
func (k *keyboard) restore() {
	if k.saved != 0 {
		console := windows.Handle(k.in.Fd())
		_ = windows.FlushConsoleInputBuffer(console)
		_ = windows.SetConsoleMode(console, k.saved)
		k.saved = 0
	}
}
