//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const peers = 4

// A site holds the folders, identities and addresses of the runs.
type site struct {
	dir, binary, file string
	targets           []target // by rank
}

// An outcome is the cost of a run.
type outcome struct {
	digest string
	cpu    time.Duration // of all peers
	peak   int64         // bytes, of the largest peer
	wall   time.Duration
	met    int   // strangers that completed a handshake
	taken  int64 // bytes of garbage
}

func newSite(ctx context.Context, dir, binary string, rounds int) (*site, error) {
	s := &site{dir: dir, binary: binary, file: filepath.Join(dir, "run.yaml")}
	if s.binary == "" {
		s.binary = filepath.Join(dir, "peer")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", s.binary, "./cmd/peer").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build: %w: %s", err, out)
		}
	}
	var roster []string
	for rank := range peers {
		at, err := freePort()
		if err != nil {
			return nil, err
		}
		out, err := exec.CommandContext(ctx, s.binary, "id", "new", "--key", s.key(rank)).Output()
		if err != nil {
			return nil, fmt.Errorf("id: %w", err)
		}
		id := strings.TrimSpace(string(out))
		s.targets = append(s.targets, target{at, id})
		roster = append(roster, fmt.Sprintf("  - {id: %s, addrs: [%s]}\n", id, multiaddr(at)))
	}
	text := fmt.Sprintf("name: strangers\ntopology: {kind: ring, size: %d}\ntrain: {rounds: %d}\npeers:\n%s", peers,
		rounds, strings.Join(roster, ""))
	return s, os.WriteFile(s.file, []byte(text), 0o600)
}

func (s *site) key(rank int) string { return filepath.Join(s.dir, "key"+strconv.Itoa(rank)) }

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// run starts the peers and, when all of them listen, the crowd.
func (s *site) run(ctx context.Context, c *crowd) (outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	var commands []*exec.Cmd
	var said, complained []*bytes.Buffer
	for rank := range peers {
		cmd := exec.CommandContext(ctx, s.binary, "run", s.file, "--json", "--rank", strconv.Itoa(rank), "--set",
			"node.key="+s.key(rank),
			"--set", "node.listen=["+multiaddr(s.targets[rank].addr)+"]", "--set",
			"output.dir="+filepath.Join(s.dir, "runs"+strconv.Itoa(rank)))
		out, text := new(bytes.Buffer), new(bytes.Buffer)
		cmd.Stdout, cmd.Stderr = out, text
		if err := cmd.Start(); err != nil {
			return outcome{}, err
		}
		commands, said, complained = append(commands, cmd), append(said, out), append(complained, text)
	}
	over := make(chan struct{})
	if c != nil {
		go func() {
			defer close(over)
			c.come(ctx, s.targets)
		}()
	}
	var o outcome
	for rank, cmd := range commands {
		if err := cmd.Wait(); err != nil {
			return outcome{}, fmt.Errorf("peer %d: %w: %s", rank, err, complained[rank])
		}
		var summary struct{ Digest string }
		if err := json.Unmarshal(said[rank].Bytes(), &summary); err != nil {
			return outcome{}, fmt.Errorf("peer %d: %w", rank, err)
		}
		o.digest = summary.Digest
		o.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		o.peak = max(o.peak, largest(cmd.ProcessState))
	}
	o.wall = time.Since(began)
	if c != nil {
		left := c.calls - int(c.made.Load())
		cancel()
		<-over
		if left > 0 {
			return outcome{}, fmt.Errorf("the run was over before %d calls were made: give it more rounds", left)
		}
		o.met, o.taken = int(c.met.Load()), c.taken.Load()
	}
	return o, nil
}

// largest returns the peak memory of a process, in bytes.
func largest(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return int64(usage.Maxrss) << 10 // the kernel says kB
}
