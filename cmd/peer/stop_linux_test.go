package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gossiptrainer/app/screen"
)

const longRun = `
name: long
topology: {size: 4}
model: {name: quadratic, dim: 50}
train: {rounds: 1000000, step_size: 0.1, momentum: 0}
output: {dir: out, every: 50}
node: {listen: [/ip4/127.0.0.1/tcp/0], key: own.key}
`

// A longCommand is a run that would go on for ever, in a folder of its own.
type longCommand struct {
	*exec.Cmd
	t      *testing.T
	stdout bytes.Buffer
	stderr *bufio.Reader
}

// startLong starts the command and returns when training has begun.
func startLong(t *testing.T, args ...string) *longCommand {
	t.Helper()
	return startLongAs(t, exec.Command, args...)
}

// startLongAs is startLong by another program.
func startLongAs(t *testing.T, command func(program string, args ...string) *exec.Cmd, args ...string) *longCommand {
	t.Helper()
	program, err := exec.LookPath("peer") // TestMain has put it there
	if err != nil {
		t.Fatal(err)
	}
	c := &longCommand{Cmd: command(program, args...), t: t}
	c.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(c.Dir, "long.yaml"), []byte(longRun), 0o666); err != nil {
		t.Fatal(err)
	}
	c.Stdout = &c.stdout
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	c.stderr = bufio.NewReader(stderr)
	for {
		line, err := c.stderr.ReadString('\n')
		if err != nil {
			t.Fatalf("%v ended before it trained, last line %q", args, line)
		}
		if strings.Contains(line, "loss=") {
			return c
		}
	}
}

// end waits for the command and returns what it still said and its exit code.
func (c *longCommand) end() (said string, code int) {
	c.t.Helper()
	rest, err := io.ReadAll(c.stderr)
	if err != nil {
		c.t.Error(err)
	}
	c.Wait()
	if left := c.leftBehind(); len(left) > 0 {
		c.t.Errorf("processes left behind: %v", left)
	}
	if c.stdout.Len() > 0 {
		c.t.Errorf("on standard output: %q", c.stdout.String())
	}
	return string(rest), c.ProcessState.ExitCode()
}

// leftBehind returns the processes that do not end with the command.
func (c *longCommand) leftBehind() map[int][]string {
	left := c.within()
	for looks := 0; len(left) > 0 && looks < 1000; looks++ { // the kernel ends those of a killed process, one by one
		left = c.within()
	}
	return left
}

// within returns the words of all processes that live in the folder of the command, by number.
func (c *longCommand) within() map[int][]string {
	found := make(map[int][]string)
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range commands {
		text, _ := os.ReadFile(path) // a process may be gone meanwhile
		dir, _ := os.Readlink(filepath.Join(filepath.Dir(path), "cwd"))
		if number, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && dir == c.Dir {
			found[number] = strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		}
	}
	return found
}

// processes returns the supervised peers of the command that live, by rank.
func (c *longCommand) processes() map[int]int {
	found := make(map[int]int)
	for number, words := range c.within() {
		if len(words) >= 5 && words[1] == "run" && words[3] == "--rank" {
			rank, _ := strconv.Atoi(words[4])
			found[rank] = number
		}
	}
	return found
}

func TestASignalEndsARunAndLeavesNothingBehind(t *testing.T) {
	tests := []struct {
		name   string
		signal syscall.Signal
		code   int
		args   []string
	}{
		{"lab, Ctrl-C", syscall.SIGINT, 130, []string{"lab", "long.yaml"}},
		{"lab, terminated", syscall.SIGTERM, 143, []string{"lab", "long.yaml"}},
		{"sim, Ctrl-C", syscall.SIGINT, 130, []string{"sim", "long.yaml"}},
		{"one peer, Ctrl-C", syscall.SIGINT, 130, []string{"run", "long.yaml", "--set", "topology.size=1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := startLong(t, tt.args...)
			c.Process.Signal(tt.signal)
			said, code := c.end()
			if code != tt.code || !strings.Contains(said, "peer: stopped by signal: ") {
				t.Errorf("exit code %d, want %d; said %q", code, tt.code, said)
			}
		})
	}
}

// The first signal ends the context, the second one the process.
func TestASecondSignalGivesUp(t *testing.T) {
	given := make(chan error)
	ctx, cancel := screen.SignalContext(t.Context(), new(screen.Resort), func(err error) { given <- err })
	defer cancel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if err := syscall.Kill(os.Getpid(), signal); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
	}
	if code := exitCode(<-given); code != 143 || exitCode(context.Cause(ctx)) != 130 {
		t.Errorf("exit code %d after %v", code, context.Cause(ctx))
	}
}

func TestAPeerThatDiesEndsTheRunIfItIsNotStartedAnew(t *testing.T) {
	t.Parallel()
	c := startLong(t, "lab", "long.yaml", "--restart", "never")
	peers := c.processes()
	if len(peers) != 4 {
		t.Fatalf("peers found: %v, want 4", peers)
	}
	syscall.Kill(peers[2], syscall.SIGKILL)
	said, code := c.end()
	if code != exitOther || !strings.Contains(said, "peer: lab: peer 2 (") || !strings.Contains(said, "signal: killed") {
		t.Errorf("exit code %d; said %q", code, said)
	}
}
