package checkpoint

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"testing"
)

// limited is set in the process whose files are limited.
const limited = "CHECKPOINT_TEST_LIMITED"

// A disk without room for the next checkpoint leaves the earlier ones as they were, and nothing of the new one. The
// limit holds for a whole process, also for the log that go test lets a test write. So a process of its own has it.
func TestADiskThatIsFull(t *testing.T) {
	if os.Getenv(limited) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestADiskThatIsFull$")
		cmd.Env = append(os.Environ(), limited+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v:\n%s", err, out)
		}
		return
	}
	dir := write3(t, 10, 20)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	for size := range uint64(3) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100 * size, Max: limit.Max}); err != nil {
			t.Fatal(err)
		}
		m, s := at(30)
		err := Write(dir, m, s, 3)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(err, syscall.EFBIG) {
			t.Errorf("%d bytes of room: error %v, want EFBIG", 100*size, err)
		}
		if got, want := names(t, dir), []string{"round-00000010", "round-00000020"}; !slices.Equal(got, want) {
			t.Errorf("%v is left, want %v", got, want)
		}
	}
	if found, err := Latest(dir); err != nil || found.Round != 20 {
		t.Errorf("found %+v, error %v, want round 20", found, err)
	}
}
