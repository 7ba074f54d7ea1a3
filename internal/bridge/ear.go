package bridge

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// An ear is where the script calls.
type ear struct {
	folder, path string
	listener     *net.UnixListener
}

// maxPath bounds the path of a socket; systems take 104 bytes or more.
const maxPath = 100

// listen makes a socket in a folder that only the user may enter.
func listen() (*ear, error) {
	folder, err := os.MkdirTemp("", "peer-")
	if err != nil {
		return nil, fmt.Errorf("a folder for the script's socket: %w", err)
	}
	e := &ear{folder: folder, path: filepath.Join(folder, "socket")}
	if len(e.path) > maxPath {
		e.close()
		return nil, fmt.Errorf("the path %s of the script's socket has more than %d bytes: set TMPDIR to a shorter folder",
			e.path, maxPath)
	}
	e.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: e.path, Net: "unix"})
	if err == nil {
		err = os.Chmod(e.path, 0o600)
	}
	if err != nil {
		e.close()
		return nil, fmt.Errorf("listen for the script: %w", err)
	}
	return e, nil
}

// close ends listening and removes the folder. It may be called twice.
func (e *ear) close() {
	if e.listener != nil {
		_ = e.listener.Close()
	}
	_ = os.RemoveAll(e.folder)
}

// accept waits for the one call of a process of a user.
func (e *ear) accept(user int, refused func(error)) (*net.UnixConn, error) {
	for {
		c, err := e.listener.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if err := callerIs(user, c); err != nil {
			refused(err)
			_ = c.Close()
			continue
		}
		return c, nil
	}
}
