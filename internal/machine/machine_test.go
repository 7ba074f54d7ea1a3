package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestTheSystemAndItsCoresAreNamed(t *testing.T) {
	want := fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if got := Describe(); !strings.HasPrefix(got, want) {
		t.Errorf("%q does not begin with %q", got, want)
	}
}

func TestFreeMemoryIsKnownOnLinux(t *testing.T) {
	free := FreeMemory()
	if runtime.GOOS == "linux" && free <= 0 || free < 0 {
		t.Errorf("%d bytes are free", free)
	}
}

func TestThePeakGrowsWithWhatIsHeld(t *testing.T) {
	before := PeakMemory()
	if before == 0 {
		t.Skip("SKIPPED: the peak is not known here")
	}
	held := make([]byte, 2*before)
	for i := 0; i < len(held); i += 1024 {
		held[i] = 1
	}
	if after := PeakMemory(); after < before+int64(len(held))/2 {
		t.Errorf("%d bytes before, %d after %d more are held", before, after, len(held))
	}
	runtime.KeepAlive(held)
}

func TestTheRoomOfAFolderThatIsNotThereIsNotKnown(t *testing.T) {
	dir := t.TempDir()
	free, known := FreeBytes(dir)
	if !known && (runtime.GOOS == "linux" || runtime.GOOS == "darwin" || runtime.GOOS == "windows") || free < 0 {
		t.Errorf("%d bytes, known %v", free, known)
	}
	if _, known := FreeBytes(filepath.Join(dir, "missing")); known && runtime.GOOS != "windows" {
		t.Error("a folder that is not there has room")
	}
}

func TestAFullDiskIsRecognised(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: Windows has errors of its own for a full disk")
	}
	full := fmt.Errorf("checkpoint: %w", &fs.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC})
	if !IsFull(full) || IsFull(nil) || IsFull(errors.New("no space left on device")) || IsFull(syscall.EACCES) {
		t.Error("ENOSPC alone, and a quota, mean that a disk is full")
	}
}

func TestAUserWhoSetsGOMAXPROCSKeepsIt(t *testing.T) {
	env := []string{"A=1"}
	t.Setenv("GOMAXPROCS", "7")
	if got := ShareProcessors(env, 4); len(got) != 1 {
		t.Errorf("got %q", got)
	}
	os.Unsetenv("GOMAXPROCS")
	got := ShareProcessors(env, 1<<20)
	if len(got) != 2 || got[1] != "GOMAXPROCS=1" && got[1] != "GOMAXPROCS=2" {
		t.Errorf("with more peers than cores: %q", got)
	}
}

func TestScriptsShareTheCores(t *testing.T) {
	t.Setenv("OMP_NUM_THREADS", "")
	for peers, want := range map[int]int{1: runtime.NumCPU(), 2: max(1, runtime.NumCPU()/2), 1000: 1} {
		if env := ShareThreads([]string{"A=b"}, peers); len(env) != 2 || env[1] != fmt.Sprintf("OMP_NUM_THREADS=%d", want) {
			t.Errorf("%d peers: environment %q, want %d threads", peers, env, want)
		}
	}
	t.Setenv("OMP_NUM_THREADS", "3")
	if env := ShareThreads([]string{"A=b"}, 2); len(env) != 1 {
		t.Errorf("environment %q overrides the user's", env)
	}
}
