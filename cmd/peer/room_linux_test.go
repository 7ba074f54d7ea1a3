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

	"gossiptrainer/internal/app/machine"
	"gossiptrainer/internal/app/runfolder"
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
		": no room for the final models: 1.2 MB are needed, and 614.4 kB are free\n", "hint: make room, or set output.dir"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("it does not say %q, but: %s", want, said)
		}
	}
	if left, _ := os.ReadDir(disk); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// While the disk is full the final models stay in memory, which each peer says once. When there is room, they and the
// whole record are saved.
func TestResultsWaitForRoom(t *testing.T) {
	disk := smallDisk(t, "2m")
	c, lines := fullLab(t, disk, "--set", "limit.latency=2ms")
	defer c.Process.Kill()
	said := linesUntil(t, lines, "loss=")
	filler := fill(t, disk)
	for range 2 {
		said += linesUntil(t, lines, "no room: results stay in memory")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(lines)
	c.Wait()
	if said += string(rest); c.ProcessState.ExitCode() != exitOK || c.stdout.Len() == 0 {
		t.Fatalf("exit code %d: %s", c.ProcessState.ExitCode(), said)
	}
	if n := strings.Count(said, "no room: "); n != 2 {
		t.Errorf("the peers say %d times that there is no room, want once each: %s", n, said)
	}
	if n := strings.Count(said, "the record stays in memory"); n != 1 {
		t.Errorf("%d lines about the record, want 1: %s", n, said)
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

// A full disk gives one line about checkpoints. When there is room again, --resume goes on from the last checkpoint
// that was written, with results in another folder if the user sets one.
func TestCheckpointsOfAFullDisk(t *testing.T) {
	disk := smallDisk(t, "8m")
	every := []string{"--set", "checkpoint.every=10", "--set", "limit.latency=10ms"}
	c, lines := fullLab(t, disk, every...)
	defer c.Process.Kill()
	said := linesUntil(t, lines, "loss=")
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for written := 0; written < 2; <-look.C {
		found, _ := filepath.Glob(filepath.Join(disk, "out", "full-*", runfolder.Checkpoints, "rank-*", "round-*"))
		written = len(found)
	}
	fill(t, disk)
	said += linesUntil(t, lines, "no room: results stay in memory")
	c.Process.Signal(os.Interrupt)
	rest, _ := io.ReadAll(lines)
	c.Wait()
	said += string(rest)
	if n := strings.Count(said, "checkpoint not written"); n < 1 || n > 2 {
		t.Errorf("%d lines about checkpoints, want one of each peer: %s", n, said)
	}
	missing := strings.Contains(said, "no room for a checkpoint: ") ||
		strings.Contains(said, "frames are only in memory: ")
	if !missing || !strings.Contains(said, "is safe in ") || !strings.Contains(said, "next: peer lab ") {
		t.Fatalf("it does not say what is missing and how to go on: %s", said)
	}
	dirs, _ := filepath.Glob(filepath.Join(disk, "out", "full-*", runfolder.Checkpoints))
	if len(dirs) != 1 {
		t.Fatalf("checkpoints %q", dirs)
	}
	resumed := summaryOf(t, c.Dir, append([]string{"lab", "full.yaml", "--resume", "--set", "checkpoint.dir=" + dirs[0]},
		every...)...)
	whole := summaryOf(t, c.Dir, append([]string{"sim", "full.yaml"}, every...)...)
	if resumed.Digest != whole.Digest || resumed.Rounds != 300 {
		t.Errorf("digest %.8s after %d rounds, want %.8s", resumed.Digest, resumed.Rounds, whole.Digest)
	}
}
