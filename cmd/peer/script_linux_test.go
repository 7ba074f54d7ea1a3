package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// startScripts starts a run without end of four scripts.
func startScripts(t *testing.T, script []string, args ...string) *longCommand {
	t.Helper()
	return startLong(t, slices.Concat(args, []string{"long.yaml", "--set", "model.name=external", "--set",
		"checkpoint.every=20", "--"}, script)...)
}

// forking is a toy with a child of its own, as data loaders have them.
var forking = []string{"toy", "fork"}

// scripts returns the numbers of the toys.
func (c *longCommand) scripts() (numbers []int) {
	for number, words := range c.within() {
		if filepath.Base(words[0]) == "toy" {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// Scripts hear of the end, and no process is left: neither a script nor what it has started.
func TestASignalEndsScripts(t *testing.T) {
	for _, args := range [][]string{{"lab"}, {"run", "--set", "topology.size=1"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			c := startScripts(t, forking, args...)
			if want := map[string]int{"lab": 4, "run": 1}[args[0]]; len(c.scripts()) != want {
				t.Errorf("%d scripts run, want %d", len(c.scripts()), want)
			}
			c.Process.Signal(syscall.SIGINT)
			said, code := c.end()
			again := strings.Contains(said, "next: peer "+args[0]) && strings.Contains(said, " -- toy fork ")
			if code != 130 || !again {
				t.Errorf("exit code %d; said %q", code, said)
			}
		})
	}
}

func TestASecondSignalEndsScriptsAtOnce(t *testing.T) {
	t.Parallel()
	c := startScripts(t, []string{"toy"}, "lab")
	c.Process.Signal(syscall.SIGINT)
	c.Process.Signal(syscall.SIGTERM)
	if said, code := c.end(); code != 130 && code != 143 {
		t.Errorf("exit code %d; said %q", code, said)
	}
}

// The kernel kills scripts whose peer dies, and peers whose lab dies.
func TestScriptsDieWithTheirLab(t *testing.T) {
	t.Parallel()
	c := startScripts(t, []string{"toy"}, "lab")
	c.Process.Kill()
	if said, code := c.end(); code != -1 {
		t.Errorf("exit code %d; said %q", code, said)
	}
}

func TestAScriptThatIsKilledTooOftenEndsTheRun(t *testing.T) {
	t.Parallel()
	c := startScripts(t, forking, "lab", "--restart", "never")
	syscall.Kill(c.scripts()[0], syscall.SIGKILL)
	said, code := c.end()
	want := regexp.MustCompile(`peer: lab: peer \d \(last record: round \d+\): the script \(toy fork\) ` +
		`was ended by a signal \(killed\) after round `)
	if code != exitScript || !want.MatchString(said) {
		t.Errorf("exit code %d; said %q", code, said)
	}
}

// A script that does not repeat its rounds may need a repair that its neighbours no longer have. The run then says who
// lacks which round, and does not hang.
func TestAScriptThatDoesNotRepeatItsRoundsEndsTheRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "drift.yaml"), []byte(interruptedRun), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("peer", "lab", "drift.yaml", "--set", "checkpoint.every=0", "--", "toy", "kill=30", "drift=10",
		"mark=killed")
	cmd.Dir = dir
	said, err := cmd.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != exitState {
		t.Fatalf("error %v, want exit code %d\n%s", err, exitState, said)
	}
	for _, want := range []string{
		"worker 3: it repeats the rounds from 0 on, but not as it did them before: in round 1",
		"needs a repair of the message of worker", "hint: no worker can go on from these checkpoints: start again without",
	} {
		if !strings.Contains(string(said), want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
}
