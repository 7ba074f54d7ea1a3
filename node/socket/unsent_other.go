//go:build !linux

package socket

import "syscall"

// limitUnsent does nothing: the kernel holds as much as it likes.
func limitUnsent(syscall.RawConn, int) {}
