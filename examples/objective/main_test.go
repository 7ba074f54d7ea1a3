package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fitted matches the last line of a worker. The least squares of all points are 1.98 and 1.01.
var fitted = regexp.MustCompile(`^worker [01]: y = (1\.9[789]|2\.00) x \+ (0\.99|1\.0[0123])$`)

// outside builds the example in a module of its own that depends on this checkout, like a user's
// program. It takes the versions and sums of the checkout, so the go command downloads nothing.
func outside(t *testing.T) (program string) {
	t.Helper()
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(elements ...string) string {
		text, err := os.ReadFile(filepath.Join(elements...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write("main.go", read("main.go"))
	write("go.sum", read(checkout, "go.sum"))
	_, requirements, _ := strings.Cut(read(checkout, "go.mod"), "\n")
	write("go.mod", "module example.org/fit\n"+requirements)
	goes := func(arguments ...string) {
		t.Helper()
		c := exec.Command("go", arguments...)
		c.Dir, c.Env = dir, append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
	}
	goes("mod", "edit", "-require=gossiptrainer@v0.0.0", "-replace=gossiptrainer="+checkout)
	program = filepath.Join(dir, "fit.exe")
	goes("build", "-ldflags=-s -w", "-o", program, ".")
	return program
}

func expectFits(t *testing.T, output string, workers int) {
	t.Helper()
	count := 0
	for line := range strings.Lines(output) {
		if fitted.MatchString(strings.TrimSpace(line)) {
			count++
		}
	}
	if count != workers {
		t.Errorf("%d workers have fitted the line, want %d:\n%s", count, workers, output)
	}
}

func TestAnotherModuleTrainsWithThisOne(t *testing.T) {
	program := outside(t)
	t.Run("in one process", func(t *testing.T) {
		out, err := exec.CommandContext(t.Context(), program).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		expectFits(t, string(out), 2)
	})
	t.Run("in two processes", func(t *testing.T) {
		first := exec.CommandContext(t.Context(), program, "-part", "0")
		first.Stderr = os.Stderr
		pipe, err := first.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := first.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(pipe)
		if !lines.Scan() {
			t.Fatal("the first process has printed no address")
		}
		out, err := exec.CommandContext(t.Context(), program, "-part", "1", "-peer", lines.Text()).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		expectFits(t, string(out), 1)
		var rest strings.Builder
		for lines.Scan() {
			rest.WriteString(lines.Text() + "\n")
		}
		if err := first.Wait(); err != nil {
			t.Errorf("the first process: %v", err)
		}
		expectFits(t, rest.String(), 1)
	})
}
