//go:build !linux

package bridge

import (
	"errors"
	"net"
)

// adopt fails: only Linux has memory without a name that cannot shrink.
func adopt(fd, elements int) (*region, error) {
	return nil, errors.New("shared memory needs Linux: join with memory \"frames\"")
}

// callerIs trusts the folder of the socket, which only its owner may enter.
func callerIs(user int, c *net.UnixConn) error { return nil }

// readFirst reads the header of the first message; no descriptor comes with it.
func readFirst(c *net.UnixConn, head []byte) (fd int, err error) { return -1, readRest(c, head) }

func release(fd int) {}
