package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/gofrs/flock"
)

// A Lock keeps two processes from using one resource at the same time. It is held until Release, or until the process
// ends: the kernel releases the lock of a process that is killed.
type Lock struct{ file *flock.Flock }

// A HeldError says that another process holds a lock.
type HeldError struct {
	Path string
	PID  string // of that process, "unknown" where it cannot be read
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("in use by another process (pid %s)", e.PID)
}

// Acquire locks the file at path, creates it if necessary, and writes the id of this process into it. It does not wait:
// if another process has the lock, the error is a *HeldError. The file stays, because removing it would race with other
// processes.
//
// A file system without locks lets every process in.
func Acquire(path string, perm fs.FileMode) (*Lock, error) {
	if err := Check(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lock := &Lock{flock.New(path, flock.SetPermissions(perm))}
	got, err := lock.file.TryLock()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return lock, nil
	case err != nil:
		return nil, err
	case !got:
		return nil, &HeldError{Path: path, PID: holder(path)}
	}
	// The id only helps the user. It stays unknown on a full disk, and on Windows, where a locked file takes no writes
	// through another handle.
	_ = os.WriteFile(path, fmt.Appendln(nil, os.Getpid()), perm)
	return lock, nil
}

// Held reports whether a process has locked the file at path. It changes nothing. For a moment it keeps other processes
// from the lock.
func Held(path string) (bool, error) {
	if err := Check(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	probe := flock.New(path, flock.SetFlag(os.O_RDONLY))
	got, err := probe.TryRLock()
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return !got, probe.Unlock()
}

// holder reads the id of the process that has locked a file.
func holder(path string) string {
	const longest = 100 // bytes
	text, err := Read(path, longest)
	if pid := strings.TrimSpace(string(text)); err == nil && pid != "" {
		return pid
	}
	return "unknown"
}

// Release gives up the lock. The file stays.
func (l *Lock) Release() error { return l.file.Unlock() }
