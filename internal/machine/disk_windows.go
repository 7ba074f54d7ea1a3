package machine

import (
	"errors"

	"golang.org/x/sys/windows"
)

// FreeBytes returns how many bytes this user may still write to the disk of dir.
func FreeBytes(dir string) (free int64, known bool) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	var available uint64
	if err := windows.GetDiskFreeSpaceEx(path, &available, nil, nil); err != nil {
		return 0, false
	}
	return int64(available), true
}

// IsFull reports whether an error says that a disk is full.
func IsFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
