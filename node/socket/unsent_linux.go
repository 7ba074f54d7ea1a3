package socket

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// limitUnsent limits the bytes that wait in the kernel and have never been sent. Errors do not matter: the kernel then
// holds more.
func limitUnsent(raw syscall.RawConn, bytes int) {
	raw.Control(func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, bytes)
	})
}
