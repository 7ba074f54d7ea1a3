package safefile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Allocate reserves disk space for the first bytes of a file. Later writes use it. Length and content of the file stay.
func Allocate(file *os.File, bytes int64) error {
	for { // a signal is no reason
		err := unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, bytes)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// unsupported reports whether an error says that the file system does not allocate.
func unsupported(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS)
}
