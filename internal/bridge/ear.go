package bridge

import (
	"bufio"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"
)

// An ear is where the script calls: a Unix socket or, where Python has none, a port of this machine with a token.
type ear struct {
	folder   string // of the Unix socket
	address  string // PEER_SOCKET
	token    string // PEER_TOKEN; "": a Unix socket
	listener listener
}

type listener interface {
	net.Listener
	SetDeadline(time.Time) error
}

const (
	maxPath    = 100 // bytes of the path of a socket; systems take 104 or more
	tokenBytes = 32
	tokenTime  = 5 * time.Second // in which a caller gives its token
	tcpScheme  = "tcp://"
)

// listen makes a Unix socket in a folder that only the user may enter, or a port for callers with a token.
func listen(tcp bool) (*ear, error) {
	if tcp {
		return listenTCP()
	}
	folder, err := os.MkdirTemp("", "peer-")
	if err != nil {
		return nil, fmt.Errorf("a folder for the script's socket: %w", err)
	}
	e := &ear{folder: folder, address: filepath.Join(folder, "socket")}
	if len(e.address) > maxPath {
		e.close()
		return nil, fmt.Errorf("the path %s of the script's socket has more than %d bytes: set TMPDIR to a shorter folder",
			e.address, maxPath)
	}
	unix, err := net.ListenUnix("unix", &net.UnixAddr{Name: e.address, Net: "unix"})
	if err == nil {
		e.listener, err = unix, os.Chmod(e.address, 0o600)
	}
	if err != nil {
		e.close()
		return nil, fmt.Errorf("listen for the script: %w", err)
	}
	return e, nil
}

func listenTCP() (*ear, error) {
	var secret [tokenBytes]byte
	_, _ = rand.Read(secret[:]) // never fails
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("listen for the script: %w", err)
	}
	return &ear{address: tcpScheme + l.Addr().String(), token: hex.EncodeToString(secret[:]), listener: l}, nil
}

// environment returns what the script needs to find the ear.
func (e *ear) environment() []string {
	if e.token == "" {
		return []string{"PEER_SOCKET=" + e.address}
	}
	return []string{"PEER_SOCKET=" + e.address, "PEER_TOKEN=" + e.token}
}

// close ends listening and removes the folder. It may be called twice.
func (e *ear) close() {
	if e.listener != nil {
		_ = e.listener.Close()
	}
	if e.folder != "" {
		_ = os.RemoveAll(e.folder)
	}
}

// accept waits for the one call of a process of a user.
func (e *ear) accept(user int, refused func(error)) (net.Conn, error) {
	if e.token != "" {
		return e.acceptToken(refused)
	}
	for {
		c, err := e.listener.Accept()
		if err != nil {
			return nil, err
		}
		if err := callerIs(user, c.(*net.UnixConn)); err != nil {
			refused(err)
			_ = c.Close()
			continue
		}
		return c, nil
	}
}

// acceptToken waits for the one call with the token. Others get no answer, and hold no one up.
func (e *ear) acceptToken(refused func(error)) (net.Conn, error) {
	type caller struct {
		c   net.Conn
		err error
	}
	known, over := make(chan caller), make(chan struct{})
	defer close(over)
	give := func(c caller) {
		select {
		case known <- c:
		case <-over:
			if c.c != nil {
				_ = c.c.Close()
			}
		}
	}
	go func() {
		for {
			c, err := e.listener.Accept()
			if err != nil {
				give(caller{nil, err})
				return
			}
			go func() {
				if err := e.prove(c); err != nil {
					refused(fmt.Errorf("%v called: %w", c.RemoteAddr(), err))
					_ = c.Close()
					return
				}
				give(caller{c, nil})
			}()
		}
	}()
	first := <-known
	return first.c, first.err
}

// prove reads the token of a caller.
func (e *ear) prove(c net.Conn) error {
	given := make([]byte, len(e.token))
	_ = c.SetReadDeadline(time.Now().Add(tokenTime))
	if _, err := io.ReadFull(c, given); err != nil {
		return fmt.Errorf("it gave no token: %w", err)
	}
	if subtle.ConstantTimeCompare(given, []byte(e.token)) != 1 {
		return errors.New("it gave another token")
	}
	return c.SetReadDeadline(time.Time{})
}

// readHead reads the header of the first message, and the descriptor that came with it: −1 where none did.
func readHead(c net.Conn, in *bufio.Reader, head []byte) (fd int, err error) {
	if unix, ok := c.(*net.UnixConn); ok {
		return readFirst(unix, head)
	}
	_, err = io.ReadFull(in, head)
	return -1, err
}
