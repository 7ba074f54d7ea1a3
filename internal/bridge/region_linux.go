package bridge

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// seals of a region: a region that another process cuts off is a bus error for the peer.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// adopt maps the memory behind a descriptor, which it does not close. The mapping ends with the last reference to the
// region.
func adopt(fd, elements int) (*region, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, fmt.Errorf("the region: %w", err)
	}
	got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return nil, errors.New("the region is no memfd: make it with memfd_create and the flag MFD_ALLOW_SEALING")
	}
	if got&seals != seals {
		return nil, fmt.Errorf("the region has seals %#x: add F_SEAL_SHRINK and F_SEAL_GROW, %#x, before HELLO", got, seals)
	}
	size := max(4*elements, minRegion)
	if stat.Size < int64(size) {
		return nil, fmt.Errorf("the region has %d bytes: %d elements need %d", stat.Size, elements, size)
	}
	// The script may keep room for a larger vector. Pages that are never touched cost nothing.
	size = int(min(stat.Size, 4*maxElements))
	mapped, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the region for reading and writing: %w", err)
	}
	r := &region{room: unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(mapped))), size/4)}
	r.data = r.room[:elements]
	runtime.AddCleanup(r, func(mapped []byte) { _ = unix.Munmap(mapped) }, mapped)
	return r, nil
}

// callerIs returns an error if the process at the other end does not belong to a user.
func callerIs(user int, c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("the user at the other end: %w", failed)
	}
	if int(peer.Uid) != user {
		return fmt.Errorf("process %d of user %d called: only user %d may", peer.Pid, peer.Uid, user)
	}
	return nil
}

// readFirst reads the header of the first message and the descriptor that came with it, −1 if there is none.
func readFirst(c *net.UnixConn, head []byte) (fd int, err error) {
	// room for more than one, so that a second is seen and closed
	ancillary := make([]byte, unix.CmsgSpace(4*4))
	n, have, flags, _, err := c.ReadMsgUnix(head, ancillary)
	if err != nil {
		return -1, err
	}
	descriptors, err := received(ancillary[:have])
	if err == nil && (len(descriptors) > 1 || flags&unix.MSG_CTRUNC != 0) {
		err = errors.New("more than one descriptor came with HELLO: send the region's alone")
	}
	if err == nil {
		err = readRest(c, head[n:])
	}
	if err != nil {
		for _, d := range descriptors {
			_ = unix.Close(d)
		}
		return -1, err
	}
	if len(descriptors) == 0 {
		return -1, nil
	}
	return descriptors[0], nil
}

// received returns the descriptors in an ancillary message.
func received(ancillary []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(ancillary)
	if err != nil {
		return nil, err
	}
	var all []int
	for i := range messages {
		if descriptors, err := unix.ParseUnixRights(&messages[i]); err == nil {
			all = append(all, descriptors...)
		}
	}
	return all, nil
}

func release(fd int) { _ = unix.Close(fd) }
