package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"gossiptrainer/app/screen"
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
	c.out, c.err = screen.NewOutput(file), screen.NewOutput(file)
	return c
}

// A long task tells now and then how far it is where there is no terminal, but not beside JSON and with -q.
func TestAPipeHearsOfLongTasks(t *testing.T) {
	for _, test := range []struct {
		json, quiet bool
		want        string
	}{{want: "reading: 50 %, about 26s left\n"}, {json: true}, {quiet: true}} {
		synctest.Test(t, func(t *testing.T) {
			c := silentConsole(t)
			c.json, c.quiet = test.json, test.quiet
			err := c.show("reading", func(watch func(done, all int64)) error {
				time.Sleep(20 * time.Second)
				watch(1, 2)
				time.Sleep(20 * time.Second)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(c.err.File.Name())
			if err != nil || string(text) != test.want {
				t.Errorf("json %v, quiet %v: %q, error %v, want %q", test.json, test.quiet, text, err, test.want)
			}
		})
	}
}
