package safefile

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

func TestASecondHolderIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := Acquire(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if _, err := Acquire(path, 0o600); !errors.As(err, &held) || held.Path != path {
		t.Fatalf("error %v, want a *HeldError of %s", err, path)
	}
	if want := strconv.Itoa(os.Getpid()); held.PID != want && runtime.GOOS != "windows" {
		t.Errorf("it names process %s, want %s", held.PID, want)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if lock, err = Acquire(path, 0o600); err != nil {
		t.Fatalf("after its release: %v", err)
	}
	lock.Release()
}

func TestAFileThatCannotBeMade(t *testing.T) {
	if _, err := Acquire(filepath.Join(t.TempDir(), "no", "lock"), 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
}

// A killed process leaves its file, but no lock.
func TestTheLockOfAKilledProcessIsGone(t *testing.T) {
	const key = "LOCKFILE_TEST_PATH"
	if path := os.Getenv(key); path != "" { // the process to be killed
		if _, err := Acquire(path, 0o600); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("locked\n")
		select {}
	}
	path := filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), key+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process said %q (%v)", line, err)
	}
	var held *HeldError
	if _, err := Acquire(path, 0o600); !errors.As(err, &held) {
		t.Fatalf("error %v while the other process lives, want a *HeldError", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	lock, err := Acquire(path, 0o600)
	if err != nil {
		t.Fatalf("after its death: %v", err)
	}
	lock.Release()
}
