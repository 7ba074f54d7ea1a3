//go:build !linux

package safefile

import (
	"errors"
	"os"
)

// Allocate returns errors.ErrUnsupported. On Linux it reserves disk space for the first bytes of a file.
func Allocate(*os.File, int64) error { return errors.ErrUnsupported }

// unsupported reports whether an error says that the file system does not allocate.
func unsupported(err error) bool { return errors.Is(err, errors.ErrUnsupported) }
