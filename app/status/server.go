package status

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/node"
)

// An Answer is the answer of a peer to "peer status".
type Answer struct {
	Run     string `json:"run"`
	Pid     int    `json:"pid"`
	Folder  string `json:"folder"`            // of the run, absolute
	Metrics string `json:"metrics,omitempty"` // host:port of /metrics
	node.Status
}

// A Server reports the state of a peer to "peer status", at a socket that only its user can open, and to Prometheus.
type Server struct {
	socket net.Listener // nil: there is none
	path   string       // of the socket
	stop   func()       // of the metrics
	wg     sync.WaitGroup
}

// askTime bounds a question and its answer, which is one JSON object.
const askTime = 2 * time.Second

// Open answers for a peer until it is closed, and writes its addresses to w. In a lab the rank is added to the port of
// the metrics. Without a folder for the socket, the peer trains and does not answer.
func Open(cfg configs.Config, dir string, rank int, n Subject, w io.Writer) (*Server, error) {
	s := &Server{stop: func() {}}
	if whole, err := filepath.Abs(dir); err == nil { // a client may run in another folder
		dir = whole
	}
	who := Answer{Run: cfg.Name, Pid: os.Getpid(), Folder: dir}
	if address := cfg.Node.Metrics; address != "" {
		at, stop, err := serveMetrics(address, rank, &collector{cfg.Name, n})
		if err != nil {
			return nil, err
		}
		s.stop, who.Metrics = stop, at
		fmt.Fprintf(w, "metrics: http://%s/metrics\n", at)
	}
	s.listen(who, n)
	return s, nil
}

func (s *Server) listen(who Answer, n Subject) {
	dir, err := Folder()
	if err != nil {
		return
	}
	path := socketIn(dir, who.Pid)
	l, err := listenAt(path)
	if err != nil {
		return
	}
	s.socket, s.path = l, path
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() { answer(c, who, n) })
		}
	})
}

// listenAt listens at a socket, which takes the place of one of a process that had the same number. The socket gets its
// name when it listens already: a client would take it for one of a process that is gone, and remove it.
func listenAt(path string) (net.Listener, error) {
	unnamed := strings.TrimSuffix(path, ending) + ".new"
	_ = os.Remove(unnamed)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: unnamed, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)    // it has another name then
	_ = os.Chmod(unnamed, 0o600) // as the folder is already
	if err := os.Rename(unnamed, path); err != nil {
		_, _ = l.Close(), os.Remove(unnamed)
		return nil, err
	}
	return l, nil
}

// wordTime is how long a process waits for the word. Other versions of the program say none, and ask for the status.
const wordTime = 200 * time.Millisecond

// answer answers one question.
func answer(c net.Conn, who Answer, n Subject) {
	defer c.Close()
	_ = c.SetWriteDeadline(time.Now().Add(askTime))
	_ = c.SetReadDeadline(time.Now().Add(wordTime))
	word, _ := bufio.NewReader(io.LimitReader(c, mostWord)).ReadString('\n')
	var said any
	switch m, open := n.(member); word {
	case asksStop:
		if open {
			m.Stop()
		}
		said = Stopped{Run: who.Run, Pid: who.Pid, Folder: who.Folder, Stopped: open}
	default:
		who.Status = n.Status()
		said = struct {
			Answer
			withMembers
		}{who, withMembers{membershipOf(n)}}
	}
	_ = json.NewEncoder(c).Encode(said) // the client sees that the answer is cut off
}

// withMembers is what a member adds to its answer.
type withMembers struct {
	Membership *Membership `json:"membership,omitempty"`
}

// ending ends the names of sockets.
const ending = ".sock"

// socketIn returns the socket of a process in a folder.
func socketIn(dir string, pid int) string { return filepath.Join(dir, strconv.Itoa(pid)+ending) }

// Close ends the answers and removes the socket.
func (s *Server) Close() {
	if s.socket != nil {
		_, _ = os.Remove(s.path), s.socket.Close()
	}
	s.stop()
	s.wg.Wait()
}

// Folders returns the folders in which peers of this user may have their sockets, that of Folder first. Peers of a
// login, of cron and of a unit of systemd have other environments than the command that asks them.
func Folders() ([]string, error) {
	var all []string
	own, err := Folder()
	switch {
	case err == nil:
		all = append(all, own)
	case !errors.Is(err, fs.ErrNotExist): // without a folder of the login there may be others
		return nil, err
	}
	for _, pattern := range elsewhere(os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), os.Getuid()) {
		found, _ := filepath.Glob(pattern) // the patterns are good
		for _, dir := range found {
			if !slices.Contains(all, dir) && private(dir) == nil {
				all = append(all, dir)
			}
		}
	}
	return all, nil
}

// elsewhere returns patterns of the usual folders of sockets. A user who names another folder asks there only.
func elsewhere(runtime, temp string, user int) []string {
	login := filepath.Join("/run/user", strconv.Itoa(user))
	if runtime != "" && filepath.Clean(runtime) != login {
		return nil
	}
	inTemp := "gossiptrainer-" + strconv.Itoa(user)
	return []string{filepath.Join(login, "gossiptrainer"), filepath.Join(temp, inTemp), filepath.Join("/tmp", inTemp),
		"/run/gossiptrainer/*/gossiptrainer"}
}

// Folder returns the folder of the sockets of the peers of this process, and creates it if necessary. It refuses a
// folder of another user, or one that others may enter.
func Folder() (string, error) {
	dir := filepath.Join(os.TempDir(), "gossiptrainer-"+strconv.Itoa(os.Getuid()))
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); runtime != "" {
		dir = filepath.Join(runtime, "gossiptrainer")
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("status: %w", err)
	}
	return dir, private(dir)
}

// private checks that a folder exists, and that others may not enter it.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if !info.IsDir() || os.PathSeparator == '/' && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("status: %s: want a folder that is this user's alone: run chmod 700 on it", dir)
	}
	return nil
}
