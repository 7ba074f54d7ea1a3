package safefile

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// The fifo has no writer, so a program that opened it would wait for ever.
func TestAFifoIsNotOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, errNotRegular) {
		t.Errorf("fifo: error %v, want errNotRegular", err)
	}
	if _, err := Read("/dev/zero", 10); !errors.Is(err, errNotRegular) {
		t.Errorf("device: error %v, want errNotRegular", err)
	}
}
