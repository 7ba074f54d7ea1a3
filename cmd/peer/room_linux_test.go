package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/internal/machine"
)

// fullRun has final models of 400 kB each, and no checkpoints.
const fullRun = `
name: full
topology: {size: 2}
model: {name: quadratic, dim: 100000}
train: {rounds: 300, step_size: 0.1, momentum: 0}
checkpoint: {every: 0, seconds: 0}
output: {every: 10}
`

// smallDisk mounts a file system of a size, in memory, until the test ends.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("SKIPPED: a file system cannot be mounted here (%v): run as root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves no room on a disk, and returns the file that takes it.
func fill(t *testing.T, disk string) string {
	t.Helper()
	path := filepath.Join(disk, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for piece := make([]byte, 4096); err == nil; {
		_, err = f.Write(piece)
	}
	if !machine.IsFull(err) {
		t.Fatalf("error %v, want that the disk is full", err)
	}
	return path
}

// fullLab starts a lab of fullRun with its results on a disk.
func fullLab(t *testing.T, disk string, args ...string) (*longCommand, *bufio.Reader) {
	t.Helper()
	program, err := exec.LookPath("peer")
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"lab", "full.yaml", "--json", "--set", "output.dir=" + filepath.Join(disk, "out")}, args...)
	c := &longCommand{Cmd: exec.Command(program, args...), t: t}
	c.Dir, c.Stdout = t.TempDir(), &c.stdout
	if err := os.WriteFile(filepath.Join(c.Dir, "full.yaml"), []byte(fullRun), 0o666); err != nil {
		t.Fatal(err)
	}
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(stderr)
}

// linesUntil reads lines up to one with this text, and returns them all.
func linesUntil(t *testing.T, lines *bufio.Reader, text string) (said string) {
	t.Helper()
	for !strings.Contains(said, text) {
		line, err := lines.ReadString('\n')
		if said += line; err != nil {
			t.Fatalf("it did not say %q, but: %s", text, said)
		}
	}
	return said
}

// A run that certainly has no room is refused with figures and key, and leaves nothing.
func TestARunWithoutRoomIsRefused(t *testing.T) {
	disk := smallDisk(t, "600k")
	c, lines := fullLab(t, disk)
	said, _ := io.ReadAll(lines)
	c.Wait()
	if code := c.ProcessState.ExitCode(); code != exitOther {
		t.Errorf("exit code %d, want %d", code, exitOther)
	}
	for _, want := range []string{"peer: output.dir: ",
		": no room for the results: 1.25 MB are needed, and 614 kB are free\n", "hint: make room, or set output.dir"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("it does not say %q, but: %s", want, said)
		}
	}
	if left, _ := os.ReadDir(disk); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// The results have room that was set aside at the start, so they are saved on a disk that others have filled.
func TestResultsHaveRoomOnAFullDisk(t *testing.T) {
	disk := smallDisk(t, "3m")
	c, lines := fullLab(t, disk, "--set", "limit.latency=20ms")
	defer c.Process.Kill()
	said := linesUntil(t, lines, "loss=")
	fill(t, disk)
	rest, _ := io.ReadAll(lines)
	c.Wait()
	if said += string(rest); c.ProcessState.ExitCode() != exitOK || c.stdout.Len() == 0 {
		t.Fatalf("exit code %d: %s", c.ProcessState.ExitCode(), said)
	}
	if strings.Contains(said, "results stay in memory") {
		t.Errorf("the results wait for room: %s", said)
	}
	dirs, _ := filepath.Glob(filepath.Join(disk, "out", "full-*"))
	if len(dirs) != 1 {
		t.Fatalf("run folders %q", dirs)
	}
	run, err := runfolder.OpenRecord(dirs[0])
	if err != nil || run.Summary == nil {
		t.Fatalf("error %v, summary %v", err, run)
	}
	steps := 0
	for _, e := range run.Events {
		if e.Step != nil {
			steps++
		}
	}
	if steps != 2*300/10 {
		t.Errorf("%d steps on record, want 60", steps)
	}
	for rank := range 2 {
		if info, err := os.Stat(runfolder.ModelPath(dirs[0], rank)); err != nil || info.Size() < 400000 {
			t.Errorf("the model of peer %d: %v", rank, err)
		}
	}
	if info, err := os.Stat(runfolder.AveragePath(dirs[0])); err != nil || info.Size() < 400000 {
		t.Errorf("the average model: %v", err)
	}
}

// kept are the settings of checkpoints by bytes alone.
var kept = []string{"--set", "checkpoint={seconds: 3600}"}

// simulated returns the digest of fullRun with some settings in the simulator.
func simulated(t *testing.T, c *longCommand, settings []string) string {
	t.Helper()
	return summaryOf(t, c.Dir, append([]string{"sim", "full.yaml"}, settings...)...).Digest
}

// A run sends far more than its disk holds, and ends with the digest of the simulator.
func TestARunThatSendsMoreThanItsDiskHolds(t *testing.T) {
	if raced() {
		t.Skip("it simulates, and its peers do what those on a full disk do")
	}
	disk := smallDisk(t, "20m") // two journals would have 60 MB
	c, lines := fullLab(t, disk, kept...)
	defer c.Process.Kill()
	said, _ := io.ReadAll(lines)
	c.Wait()
	if c.ProcessState.ExitCode() != exitOK {
		t.Fatalf("exit code %d: %s", c.ProcessState.ExitCode(), said)
	}
	if want := simulated(t, c, kept); !strings.Contains(c.stdout.String(), want) {
		t.Errorf("%s does not have the digest %s", c.stdout.String(), want)
	}
}

// Ctrl-C on a full disk keeps a state after round 0. With room again, --resume goes on from there.
func TestAStopOnAFullDisk(t *testing.T) {
	disk := smallDisk(t, "20m")
	settings := append([]string{"--set", "limit.latency=10ms"}, kept...)
	c, lines := fullLab(t, disk, settings...)
	defer c.Process.Kill()
	said := linesUntil(t, lines, "loss=")
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for written := 0; written < 2; <-look.C {
		found, _ := filepath.Glob(filepath.Join(disk, "out", "full-*", runfolder.Checkpoints, "rank-*", "round-*[1-9]*"))
		written = len(found)
	}
	filler := fill(t, disk)
	c.Process.Signal(os.Interrupt)
	rest, _ := io.ReadAll(lines)
	c.Wait()
	if said += string(rest); !strings.Contains(said, "is safe in ") || strings.Contains(said, "of round 0 is safe") {
		t.Fatalf("it does not say which state is safe: %s", said)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	dirs, _ := filepath.Glob(filepath.Join(disk, "out", "full-*"))
	if len(dirs) != 1 {
		t.Fatalf("run folders %q", dirs)
	}
	resumed := summaryOf(t, c.Dir, "lab", dirs[0], "--resume")
	if raced() {
		return // the run to compare with is simulated, for long
	}
	if want := simulated(t, c, settings); resumed.Digest != want || resumed.Rounds != 300 {
		t.Errorf("digest %.8s after %d rounds, want %.8s", resumed.Digest, resumed.Rounds, want)
	}
}
