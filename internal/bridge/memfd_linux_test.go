package bridge

import (
	"net"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const haveMemfd = true

// makeRegion makes a region of size bytes with seals. It returns the mapping and the descriptor.
func makeRegion(size, seals int) ([]float32, int, error) {
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, -1, err
	}
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return nil, -1, err
	}
	mapped, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, -1, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return nil, -1, err
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&mapped[0])), size/4), fd, nil
}

const bothSeals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// sendWith sends a message with descriptors on its first byte.
func sendWith(c *net.UnixConn, message []byte, fds ...int) error {
	n, _, err := c.WriteMsgUnix(message, unix.UnixRights(fds...), nil)
	if err == nil && n < len(message) {
		_, err = c.Write(message[n:])
	}
	return err
}

// detach has a program leave the session, and with it the process group, of its parent.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
