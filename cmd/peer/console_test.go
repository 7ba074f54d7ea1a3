package main

import (
	"os"
	"path/filepath"
	"testing"

	"gossiptrainer/internal/app/terminal"
)

// silentConsole returns a console that writes to files.
func silentConsole(t *testing.T) *console {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "talk"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	c := newConsole()
	c.out, c.err = terminal.NewOutput(file), terminal.NewOutput(file)
	return c
}
