package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Allocate gives a file at least so many bytes of its disk, which later writes take. Its length and its content stay.
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
