//go:build !linux

package atomicfile

import (
	"errors"
	"os"
)

// Allocate returns errors.ErrUnsupported: on Linux it gives a file at least so many bytes of its disk, which later
// writes take.
func Allocate(*os.File, int64) error { return errors.ErrUnsupported }

// unsupported reports whether an error says that the file system does not allocate.
func unsupported(err error) bool { return errors.Is(err, errors.ErrUnsupported) }
