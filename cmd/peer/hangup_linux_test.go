package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"gossiptrainer/app/screen"
)

// openTerminal returns both ends of a terminal.
func openTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("SKIPPED: this system has no /dev/ptmx")
	}
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120})
	}
	if err == nil {
		theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

const hungUpComparison = `
name: hung
base: long.yaml
mode: sim
algorithms: [{label: A, name: dpsgd, bits: 32}]
seeds: [1]
budget: {rounds: 1000000}
report: {targets: {loss: 0.0001}}
`

// A terminal that closes is Ctrl-C: the kernel sends a hangup, and nothing can be printed any more. The state is
// written and no process is left. The race detector sees a table and scripts, which have goroutines of their own.
func TestAClosedTerminalIsCtrlC(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("SKIPPED: the tests run under nohup")
	}
	scripts := []string{"--set", "model.name=external", "--", "toy"}
	alone := []string{"run", "long.yaml", "--set", "topology.size=1"}
	for name, test := range map[string]struct {
		terminal, begun string // "": a table, which is drawn in parts; it has begun when worker 3 has
		args            []string
		state           string // the folder with the safe state; "": it is not looked for
	}{
		"lab":                  {"dumb", "loss=", []string{"lab", "long.yaml"}, "rank-3"},
		"lab with a table":     {"xterm", "", []string{"lab", "long.yaml"}, "rank-3"},
		"lab with scripts":     {"dumb", "loss=", slices.Concat([]string{"lab", "long.yaml"}, scripts), "rank-3"},
		"one peer":             {"dumb", "loss=", alone, "rank-0"},
		"one peer of a script": {"dumb", "loss=", slices.Concat(alone, scripts), "rank-0"},
		"sim":                  {"dumb", "loss=", []string{"sim", "long.yaml"}, "sim"},
		"comparison":           {"dumb", "cell 1 of 1", []string{"compare", "hung.yaml", "-o", "out"}, ""},
	} {
		if raced() && name != "lab with a table" && name != "lab with scripts" && name != "comparison" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath("peer") // TestMain has put it there
			if err != nil {
				t.Fatal(err)
			}
			c := &longCommand{Cmd: exec.Command(program, test.args...), t: t}
			c.Dir = t.TempDir()
			for file, text := range map[string]string{"long.yaml": longRun, "hung.yaml": hungUpComparison} {
				if err := os.WriteFile(filepath.Join(c.Dir, file), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			ours, theirs := openTerminal(t)
			c.Stdin, c.Stdout, c.Stderr = theirs, theirs, theirs
			c.Env = append(os.Environ(), "TERM="+test.terminal)
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			theirs.Close()
			states := filepath.Join(c.Dir, "out", "long-*", "checkpoints", test.state, "round-*")
			said := readUntil(t, ours, func(said string) bool {
				begun, _ := filepath.Glob(states)
				return strings.Contains(said, test.begun) && (test.begun != "" || len(begun) > 0)
			})
			ours.Close() // the terminal closes
			c.Wait()
			if code := c.ProcessState.ExitCode(); code != exitSignal+int(syscall.SIGHUP) {
				t.Errorf("exit code %d; said before %q", code, said)
			}
			if left := c.leftBehind(); len(left) > 0 {
				t.Errorf("processes left behind: %v", left)
			}
			safe, err := filepath.Glob(states)
			zero := func(path string) bool { return strings.HasSuffix(path, "round-00000000") }
			if safe = slices.DeleteFunc(safe, zero); test.state != "" && len(safe) == 0 || err != nil {
				t.Errorf("no state is safe: %v", err)
			}
		})
	}
}

// readUntil reads what a command says on its terminal until it has begun.
func readUntil(t *testing.T, terminal *os.File, begun func(said string) bool) (said string) {
	t.Helper()
	part := make([]byte, 1<<16)
	for !begun(said) {
		n, err := terminal.Read(part)
		if err != nil {
			t.Fatalf("%v, before it has begun; said %q", err, said)
		}
		said += string(part[:n])
	}
	return said
}

// Under nohup a run goes on.
func TestAnIgnoredHangupStaysIgnored(t *testing.T) {
	t.Parallel()
	c := startLongAs(t, func(program string, args ...string) *exec.Cmd {
		return exec.Command("sh", append([]string{"-c", `trap "" HUP; exec "$0" "$@"`, program}, args...)...)
	}, "lab", "long.yaml")
	c.Process.Signal(syscall.SIGHUP)
	c.Process.Signal(syscall.SIGTERM)
	if said, code := c.end(); code != exitSignal+int(syscall.SIGTERM) {
		t.Errorf("exit code %d; said %q", code, said)
	}
}

// A terminal that closes may send several hangups, and none breaks off the orderly end.
func TestFurtherHangupsDoNotGiveUp(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("SKIPPED: the tests run under nohup")
	}
	given := make(chan error)
	ctx, cancel := screen.SignalContext(t.Context(), new(screen.Resort), func(err error) { given <- err })
	defer cancel()
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGHUP, syscall.SIGTERM} {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
	}
	if code := exitCode(<-given); code != 143 || exitCode(context.Cause(ctx)) != 129 {
		t.Errorf("exit code %d after %v", code, context.Cause(ctx))
	}
}
