//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gossiptrainer/gossip/view"
	"gossiptrainer/topology"
)

const (
	machines = 8
	founders = 4
	fewest   = 2
	grace    = 4 * time.Second
)

// A lan has machines in network namespaces, with cables to bridges of a hub. All are at bridge 0 unless it is parted.
type lan struct {
	dir, program string
	prefix       string // of all namespaces
	rounds       int
	all          [machines]*machine
}

// A machine runs a peer, or is off.
type machine struct {
	*lan
	rank  int
	cmd   *exec.Cmd
	out   *bytes.Buffer
	ended chan struct{} // closed when the process has ended
	runs  int           // processes so far
}

func newLAN(dir, program string, rounds int) *lan {
	l := &lan{dir: dir, program: program, rounds: rounds, prefix: fmt.Sprintf("members%d-", os.Getpid())}
	for i := range l.all {
		l.all[i] = &machine{lan: l, rank: i}
	}
	return l
}

func (l *lan) hub() string { return l.prefix + "hub" }

// bridges is how many parts the LAN may fall into.
const bridges = 3

// open creates namespaces, cables and the secret.
func (l *lan) open() error {
	steps := []error{ip("netns add %s", l.hub())}
	for b := range bridges {
		steps = append(steps, ip("-n %s link add bridge%d type bridge mcast_snooping 0", l.hub(), b),
			ip("-n %s link set bridge%d up", l.hub(), b))
	}
	for i, m := range l.all {
		steps = append(steps, ip("netns add %s", m.space()), ip("-n %s link set lo up", m.space()),
			ip("-n %s link add eth0 type veth peer name port%d netns %s", m.space(), i, l.hub()),
			ip("-n %s address add 10.81.0.%d/24 dev eth0", m.space(), i+1), ip("-n %s link set eth0 up", m.space()),
			m.attach(0), ip("-n %s link set port%d up", l.hub(), i), os.Mkdir(m.home(), 0o777))
	}
	steps = append(steps, exec.Command(l.program, "id", "secret", filepath.Join(l.dir, "secret")).Run())
	return errors.Join(steps...)
}

// close kills what runs, and removes the namespaces.
func (l *lan) close() {
	for _, m := range l.all {
		if m.on() {
			_ = syscall.Kill(-m.cmd.Process.Pid, syscall.SIGKILL)
			<-m.ended
		}
		_ = ip("netns delete %s", m.space()) // an error is expected where open has failed
	}
	_ = ip("netns delete %s", l.hub())
}

// running returns the machines that are on.
func (l *lan) running() (on []*machine) {
	for _, m := range l.all {
		if m.on() {
			on = append(on, m)
		}
	}
	return on
}

func (l *lan) off() (off []*machine) {
	for _, m := range l.all {
		if !m.on() {
			off = append(off, m)
		}
	}
	return off
}

// settings are those of the run.
func (l *lan) settings() []string {
	all := []string{"topology.size=" + strconv.Itoa(founders), "train.rounds=" + strconv.Itoa(l.rounds),
		"train.schedule=constant", "train.step_size=0.02", "algorithm.codec=full", "model.hidden=[16]",
		"limit.latency=20ms", fmt.Sprintf("membership={mode: view, min: %d, max: %d, grace: %v}", fewest, machines, grace)}
	var args []string
	for _, s := range all {
		args = append(args, "--set", s)
	}
	return args
}

func (m *machine) space() string { return m.prefix + strconv.Itoa(m.rank) }
func (m *machine) home() string  { return filepath.Join(m.dir, m.name()) }
func (m *machine) name() string  { return "m" + strconv.Itoa(m.rank) }

// attach puts the cable of the machine at a bridge.
func (m *machine) attach(bridge int) error {
	return ip("-n %s link set port%d master bridge%d", m.hub(), m.rank, bridge)
}

// cable pulls the cable of the machine, or plugs it in.
func (m *machine) cable(state string) error {
	return ip("-n %s link set port%d %s", m.hub(), m.rank, state)
}

func (m *machine) on() bool {
	if m.ended == nil {
		return false
	}
	select {
	case <-m.ended:
		return false
	default:
		return true
	}
}

// start starts the peer of the machine, which has a name of its own.
func (m *machine) start() error {
	args := append([]string{"netns", "exec", m.space(), "unshare", "--uts", "sh", "-c", `hostname "$1"; shift; exec "$@"`,
		"sh", m.name(), m.program, "run", "ring8", "--json"}, m.settings()...)
	for _, s := range []string{"output.dir=" + filepath.Join(m.home(), strconv.Itoa(m.runs)),
		"node.key=" + filepath.Join(m.home(), "key"), "node.join_secret_file=" + filepath.Join(m.dir, "secret")} {
		args = append(args, "--set", s)
	}
	said, err := os.Create(filepath.Join(m.home(), strconv.Itoa(m.runs)+".log"))
	if err != nil {
		return err
	}
	m.cmd, m.out, m.ended = exec.Command("ip", args...), new(bytes.Buffer), make(chan struct{})
	m.cmd.Stdout, m.cmd.Stderr = m.out, said
	m.cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+m.home())
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := m.cmd.Start(); err != nil {
		return err
	}
	m.runs++
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait() // its state says how it ended
		said.Close()
		close(ended)
	}(m.cmd, m.ended)
	return nil
}

func (m *machine) signal(s syscall.Signal) error { return syscall.Kill(-m.cmd.Process.Pid, s) }

// said returns the last lines of the log of the machine.
func (m *machine) said() string {
	text, _ := os.ReadFile(filepath.Join(m.home(), strconv.Itoa(m.runs-1)+".log"))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return m.name() + ":\n" + strings.Join(lines[max(0, len(lines)-8):], "\n")
}

// folder returns the run folder of a process of the machine, "" before it has one.
func (m *machine) folder(run int) string {
	found, _ := filepath.Glob(filepath.Join(m.home(), strconv.Itoa(run), "*", "run.yaml"))
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[0])
}

// views returns the log of views of a process, as far as it is written.
func (m *machine) views(run int) *view.Log {
	dir := m.folder(run)
	if dir == "" {
		return nil
	}
	text, _ := os.ReadFile(filepath.Join(dir, "views.jsonl"))
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	if len(text) == 0 {
		return nil
	}
	log, err := view.Read(bytes.NewReader(text), topology.Spec{Kind: topology.Ring, Slack: 1, Seed: 1})
	if err != nil {
		return nil
	}
	return log
}

// names returns the names of the members of the last view that the machine knows, and the number of its views.
func (m *machine) names() (names []string, known int) {
	log := m.views(m.runs - 1)
	if log == nil {
		return nil, 0
	}
	for _, who := range log.Last().Members {
		names = append(names, who.Name)
	}
	slices.Sort(names)
	return names, log.Len()
}

// rounds returns how many rounds the machine has done, as far as its record says.
func (m *machine) done() (round int) {
	file, err := os.Open(filepath.Join(m.folder(m.runs-1), "events.jsonl"))
	if err != nil {
		return 0
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > 1<<14 {
		_, _ = file.Seek(-1<<14, 2)
	}
	text := new(bytes.Buffer)
	_, _ = text.ReadFrom(file)
	for line := range strings.Lines(text.String()) {
		var event struct {
			Step struct{ Round int } `json:"step"`
		}
		if json.Unmarshal([]byte(line), &event) == nil {
			round = max(round, event.Step.Round)
		}
	}
	return round
}

// ip runs the command ip.
func ip(words string, args ...any) error {
	all := strings.Fields(fmt.Sprintf(words, args...))
	if text, err := exec.Command("ip", all...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(all, " "), err, bytes.TrimSpace(text))
	}
	return nil
}
