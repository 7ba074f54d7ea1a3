//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gossiptrainer/internal/record"
)

// A lanSite runs peers in network namespaces. Each peer has a cable to a hub in a subnet of its own. The only way from
// one peer to another is the exchange, which listens in the hub. So the exchange can delay or change every byte, and
// the test can pull every cable.
//
//	peer i: 10.79.i.2  ──cable──  10.79.i.1: port 5000+j  ──exchange──  10.79.j.1  ──cable──  10.79.j.2: port 4001
type lanSite struct {
	scenario scenario
	peer     string // the program
	dir      string
	seed     uint64
	prefix   string // of all namespaces
	ids      []string
	exchange *exchange
	running  []*program // by rank
	watch    *watch
}

const (
	metricsAt = "127.0.0.1:9464" // in the namespace of each peer
	diskSize  = 256 << 20
)

func (s *lanSite) hub() string            { return s.prefix + "hub" }
func (s *lanSite) space(rank int) string  { return s.prefix + strconv.Itoa(rank) }
func (s *lanSite) home(rank int) string   { return filepath.Join(s.dir, strconv.Itoa(rank)) }
func (s *lanSite) programs() []*program   { return s.running }
func (s *lanSite) key(rank int) string    { return filepath.Join(s.home(rank), "key") }
func (s *lanSite) output(rank int) string { return filepath.Join(s.home(rank), "runs") }
func (s *lanSite) record(rank int) string {
	return filepath.Join(s.output(rank), "*", record.EventsFile)
}
func (s *lanSite) multiaddr(rank int) string {
	return fmt.Sprintf("/ip4/%s/tcp/%d", address(rank), listenPort)
}

func (s *lanSite) start(ctx context.Context, w *watch) error {
	s.watch = w
	if err := s.lay(); err != nil {
		return err
	}
	var err error
	if s.exchange, err = openExchange(s.hub(), s.scenario.peers, s.seed); err != nil {
		return err
	}
	s.running = make([]*program, s.scenario.peers)
	for rank := range s.scenario.peers {
		if err := s.furnish(rank); err != nil {
			return err
		}
	}
	for rank := range s.scenario.peers {
		go w.follow(ctx, s.record(rank), rank)
		if err := s.run(rank); err != nil {
			return err
		}
	}
	return nil
}

// lay creates the namespaces and the cables.
func (s *lanSite) lay() error {
	steps := []error{ip("netns add %s", s.hub()), ip("-n %s link set lo up", s.hub())}
	for i := range s.scenario.peers {
		steps = append(steps,
			ip("netns add %s", s.space(i)),
			ip("-n %s link set lo up", s.space(i)),
			ip("-n %s link add eth0 type veth peer name port%d netns %s", s.space(i), i, s.hub()),
			ip("-n %s address add %s/24 dev eth0", s.space(i), address(i)),
			ip("-n %s address add %s/24 dev port%d", s.hub(), gate(i), i),
			ip("-n %s link set eth0 up", s.space(i)),
			ip("-n %s link set port%d up", s.hub(), i))
	}
	return errors.Join(steps...)
}

// furnish gives a peer its own disk and identity.
func (s *lanSite) furnish(rank int) error {
	if err := os.Mkdir(s.home(rank), 0o777); err != nil {
		return err
	}
	if err := syscall.Mount("chaos", s.home(rank), "tmpfs", 0, fmt.Sprintf("size=%d", diskSize)); err != nil {
		return fmt.Errorf("mount a disk: %w", err)
	}
	out, err := exec.Command(s.peer, "id", "new", "--json", "--key", s.key(rank)).Output()
	if err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	var who struct {
		ID string `json:"id"`
	}
	err = json.Unmarshal(out, &who)
	s.ids = append(s.ids, who.ID)
	return err
}

// run starts the peer of a rank, with more arguments.
func (s *lanSite) run(rank int, more ...string) error {
	args := append([]string{"netns", "exec", s.space(rank), s.peer, "run", "ring8", "--json", "-v"}, s.scenario.sets()...)
	for _, set := range []string{
		"peers=" + s.roster(rank), "node.key=" + s.key(rank), "output.dir=" + s.output(rank), "node.listen=[" +
			s.multiaddr(rank) + "]", "node.metrics=" + metricsAt,
	} {
		args = append(args, "--set", set)
	}
	cmd := exec.Command("ip", append(args, more...)...)
	cmd.Dir = s.home(rank)
	p, err := launch(cmd, rank, s.watch)
	if err == nil {
		s.running[rank] = p
	}
	return err
}

// roster returns the peer list of one peer, with the addresses of the others at the exchange.
func (s *lanSite) roster(rank int) string {
	var entries []string
	for j, id := range s.ids {
		at := fmt.Sprintf("/ip4/%s/tcp/%d", gate(rank), exchangePort+j)
		if j == rank {
			at = s.multiaddr(j)
		}
		entries = append(entries, fmt.Sprintf("{id: %s, addrs: [%s]}", id, at))
	}
	return "[" + strings.Join(entries, ", ") + "]"
}

func (s *lanSite) pid(rank int) int {
	if p := s.running[rank]; p != nil && !p.over() {
		return p.cmd.Process.Pid
	}
	return 0
}

// goroutines reads the goroutine count from the metrics of a peer.
func (s *lanSite) goroutines(rank int) int {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return within(s.space(rank), func() (net.Conn, error) { return net.DialTimeout("tcp", metricsAt, time.Second) })
		}}}
	answer, err := client.Get("http://" + metricsAt + "/metrics")
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "go_goroutines "); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(value))
			return n
		}
	}
	return 0
}

// revive restarts a dead peer at its newest checkpoint, or at the beginning if it has none.
func (s *lanSite) revive(rank int) error {
	<-s.running[rank].ended
	if kept, _ := filepath.Glob(filepath.Join(s.output(rank), "*", "checkpoints", "rank-*", "round-*")); len(kept) == 0 {
		return s.run(rank)
	}
	return s.run(rank, "--resume")
}

func (s *lanSite) harm(f fault) (func() error, error) {
	switch f.kind {
	case cable:
		return func() error { return ip("-n %s link set eth0 up", s.space(f.rank)) },
			ip("-n %s link set eth0 down", s.space(f.rank))
	case slow:
		return s.throttle(f.rank)
	case split, corrupt:
		return s.exchange.harm(f), nil
	case garbage:
		return s.exchange.flood(f.rank), nil
	case full:
		return s.fill(f.rank)
	}
	return nil, fmt.Errorf("%s: unknown here", f.kind)
}

// throttle limits a cable to 100 kbit/s in both directions.
func (s *lanSite) throttle(rank int) (func() error, error) {
	const limit = "root tbf rate 100kbit burst 4k latency 400ms"
	ends := [][2]string{{s.space(rank), "eth0"}, {s.hub(), fmt.Sprintf("port%d", rank)}}
	for _, end := range ends {
		// Packets must fit into the burst, or the queue drops them.
		words := strings.Fields(fmt.Sprintf("-n %s link set %s gso_max_segs 1", end[0], end[1]))
		if err := command("ip", words...); err != nil {
			return nil, err
		}
		if err := command("tc", strings.Fields(fmt.Sprintf("-n %s qdisc add dev %s %s", end[0], end[1],
			limit))...); err != nil {
			return nil, err
		}
	}
	return func() error {
		var errs []error
		for _, end := range ends {
			errs = append(errs, command("tc", "-n", end[0], "qdisc", "delete", "dev", end[1], "root"))
		}
		return errors.Join(errs...)
	}, nil
}

// fill fills the disk of a peer to the last byte.
func (s *lanSite) fill(rank int) (func() error, error) {
	path := filepath.Join(s.home(rank), "filling")
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	block := make([]byte, 1<<12) // the block size of the disk
	for {
		if _, err = file.Write(block); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return nil, err
	}
	return func() error { return os.Remove(path) }, nil
}

func (s *lanSite) close() {
	for _, p := range s.running {
		if p != nil {
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
	}
	if s.exchange != nil {
		s.exchange.close()
	}
	for rank := range s.scenario.peers {
		_ = ip("netns delete %s", s.space(rank)) // an error is expected: the namespace may not exist
		_ = syscall.Unmount(s.home(rank), syscall.MNT_DETACH)
	}
	_ = ip("netns delete %s", s.hub())
}
