package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/identity"
)

// A site is a folder with the run file and the keys of machines that know each other by a roster.
type site struct {
	t       *testing.T
	dir     string
	program string
}

// newSite returns that of two machines.
func newSite(t *testing.T) *site {
	t.Helper()
	return newSiteOf(t, 2, `
name: pair
topology: {size: 2}
model: {name: quadratic, dim: 50}
train: {rounds: 40, step_size: 0.1, momentum: 0}
output: {dir: out}
`)
}

// newSiteOf returns that of some machines with a run file that lacks the roster.
func newSiteOf(t *testing.T, machines int, text string) *site {
	t.Helper()
	program, err := exec.LookPath("peer") // TestMain has put it there
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: t.TempDir(), program: program}
	text += "peers:\n"
	for i := range machines {
		who, err := identity.Create(filepath.Join(s.dir, fmt.Sprintf("%d.key", i)))
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("  - {id: %s, addrs: [%s]}\n", who.ID(), s.freeAddr())
	}
	if err := os.WriteFile(filepath.Join(s.dir, "pair.yaml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return s
}

// Ports of tests that name them lie below those that the system gives to others, which could take them before the peer
// starts.
const firstPort, lastPort = 16_384, 32_767

var drawn = struct {
	sync.Mutex
	port int // the last one
}{port: firstPort + rand.IntN(lastPort-firstPort)}

// freeAddr returns an address that was free a moment ago. It returns each one once.
func (s *site) freeAddr() string {
	s.t.Helper()
	drawn.Lock()
	defer drawn.Unlock()
	for range lastPort - firstPort {
		if drawn.port++; drawn.port > lastPort {
			drawn.port = firstPort
		}
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", drawn.port))
		if err == nil {
			l.Close()
			return fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", drawn.port)
		}
	}
	s.t.Fatalf("no port from %d to %d is free", firstPort, lastPort)
	return ""
}

// A lanPeer is a peer that was started.
type lanPeer struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

// start starts the peer that holds a key.
func (s *site) start(key int, args ...string) *lanPeer {
	s.t.Helper()
	roster, err := os.ReadFile(filepath.Join(s.dir, "pair.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	addr := strings.Split(strings.SplitAfter(string(roster), "addrs: [")[key+1], "]")[0]
	args = append([]string{"run", "pair.yaml", "--json",
		"--set", fmt.Sprintf("node.key=%d.key", key), "--set", "node.listen=[" + addr + "]"}, args...)
	m := &lanPeer{Cmd: exec.Command(s.program, args...)}
	m.Dir, m.Stdout, m.Stderr = s.dir, &m.stdout, &m.stderr
	if err := m.Start(); err != nil {
		s.t.Fatal(err)
	}
	return m
}

// end waits for the peer and returns its exit code.
func (m *lanPeer) end() int {
	m.Wait()
	return m.ProcessState.ExitCode()
}

func (m *lanPeer) summary(t *testing.T) record.Summary {
	t.Helper()
	var s record.Summary
	if err := json.Unmarshal(m.stdout.Bytes(), &s); err != nil {
		t.Fatalf("%v: %s%s", err, m.stdout.String(), m.stderr.String())
	}
	return s
}

func TestTwoMachinesOfARosterTrainLikeTheSimulator(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.start(0, "--rank", "0")
	second := s.start(1)
	for i, m := range []*lanPeer{first, second} {
		if code := m.end(); code != exitOK {
			t.Fatalf("peer %d: exit code %d: %s", i, code, m.stderr.String())
		}
	}
	one, other := first.summary(t), second.summary(t)
	if one.Digest == "" || one.Digest != other.Digest || one.Mode != "run" || one.Peers != 2 {
		t.Errorf("the two see %+v and %+v", one, other)
	}
	if one.Consensus != nil {
		t.Errorf("consensus %v, though the other model is not at hand", *one.Consensus)
	}
	text, err := s.command("sim", "pair.yaml", "--json", "--quiet").Output()
	if err != nil {
		t.Fatal(err)
	}
	var simulated record.Summary
	if err := json.Unmarshal(text, &simulated); err != nil {
		t.Fatal(err)
	}
	if simulated.Digest != one.Digest {
		t.Errorf("digest %s, the simulator's is %s", one.Digest, simulated.Digest)
	}
}

// A file that differs on one machine is named at both ends before anything is trained.
func TestMachinesWithOtherDataRefuseEachOther(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]func(folder string) []string{
		"libsvm": func(folder string) []string { return []string{"--set", "data.dir=" + folder} },
		"file":   ownPaths,
	} {
		s := newSiteOf(t, 2, `
name: pair
topology: {size: 2}
data: {name: `+name+`}
model: {name: logistic}
train: {rounds: 20, batch: 1}
output: {dir: out}
`)
		s.ownFiles("a", "1 1:1\n2 2:1\n")
		s.ownFiles("b", "2 1:1\n1 2:1\n") // labels shifted
		for i, m := range []*lanPeer{s.start(0, own("a")...), s.start(1, own("b")...)} {
			code, said := m.end(), m.stderr.String()
			for _, want := range []string{"data set.fingerprint is ", " here and ", " there\n",
				"hint: copy the same files to all machines"} {
				if code != exitNetwork || !strings.Contains(said, want) {
					t.Errorf("%s: peer %d: exit code %d, want %d and %q: %s", name, i, code, exitNetwork, want, said)
				}
			}
		}
	}
}

// ownPaths returns the flags that name the files of a folder as a user's own.
func ownPaths(folder string) []string {
	return []string{"--set", "data.path=" + folder + "/train.libsvm", "--set", "data.test=" + folder + "/test.libsvm"}
}

// Machines that train on their own files compute what the simulator does with all files, and count the same epochs.
func TestMachinesWithOwnFilesTrainLikeTheSimulator(t *testing.T) {
	t.Parallel()
	for from, second := range map[string][]string{
		"name: libsvm, dir: 'own-{rank}'":                                             {"--set", "data.dir=own-1"},
		"name: file, path: 'own-{rank}/train.libsvm', test: 'own-{rank}/test.libsvm'": ownPaths("own-1"),
	} {
		trainLikeTheSimulator(t, newSiteOf(t, 2, `
name: pair
topology: {size: 2}
data: {`+from+`, partition: local, dimension: 4, labels: [1, 2]}
model: {name: logistic}
train: {epochs: 10, batch: 1}
output: {dir: out}
`), second)
	}
}

func trainLikeTheSimulator(t *testing.T, s *site, flags []string) {
	t.Helper()
	s.ownFiles("own-0", "1 1:1\n2 4:1\n1 1:2\n")
	s.ownFiles("own-1", "2 2:1\n")
	first, second := s.start(0), s.start(1, flags...)
	for i, m := range []*lanPeer{first, second} {
		if code := m.end(); code != exitOK {
			t.Fatalf("peer %d: exit code %d: %s", i, code, m.stderr.String())
		}
	}
	text, err := s.command("sim", "pair.yaml", "--json", "--quiet").Output()
	if err != nil {
		t.Fatal(err)
	}
	var simulated record.Summary
	if err := json.Unmarshal(text, &simulated); err != nil {
		t.Fatal(err)
	}
	for _, got := range []record.Summary{first.summary(t), second.summary(t)} {
		if got.Digest != simulated.Digest || !slices.Equal(got.Data.Train, []int{3, 1}) || got.Data.TestSets != 2 {
			t.Errorf("digest %s, data %+v, want %s and those of the simulator: %+v", got.Digest, got.Data, simulated.Digest,
				simulated.Data)
		}
	}
}

// ownFiles makes a folder with a training set. Part of the set serves as test set too.
func (s *site) ownFiles(folder, rows string) {
	s.t.Helper()
	dir := filepath.Join(s.dir, folder)
	if err := os.Mkdir(dir, 0o777); err != nil {
		s.t.Fatal(err)
	}
	for name, text := range map[string]string{"train.libsvm": rows, "test.libsvm": strings.SplitAfter(rows, "\n")[0]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *site) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.program, args...)
	cmd.Dir = s.dir
	return cmd
}

func TestAPeerWithAnotherRankOrKeyIsToldSo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m := s.start(1, "--rank", "0")
	if code := m.end(); code != exitUsage || !strings.Contains(m.stderr.String(),
		"peer: run: --rank 0: this peer has rank 1") {
		t.Errorf("exit code %d: %s", code, m.stderr.String())
	}
	err := s.command("run", "pair.yaml", "--set", "node.key=stranger.key").Run()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() == exitOK {
		t.Errorf("a key that is not in the roster: %v", err)
	}
}
