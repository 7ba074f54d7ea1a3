package doctor

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gossiptrainer/app/describe"
	"gossiptrainer/app/peer"
	"gossiptrainer/configs"
	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/node/socket"
)

// expect compares a row with a verdict and words that it says.
func expect(t *testing.T, row Row, v Verdict, words ...string) {
	t.Helper()
	if row.Verdict != v {
		t.Errorf("%+v, want %s", row, v)
	}
	for _, w := range words {
		if !strings.Contains(row.Seen+" fix: "+row.Fix, w) {
			t.Errorf("%+v does not say %q", row, w)
		}
	}
	if (v == OK) != (row.Fix == "") {
		t.Errorf("%+v: a fix goes with a complaint, and with nothing else", row)
	}
}

func TestProcessors(t *testing.T) {
	expect(t, judgeProcessor(kernel.AVX512, kernel.AVX512, "amd64"), OK, "avx512")
	expect(t, judgeProcessor(kernel.Off, kernel.AVX2, "amd64"), Look, kernel.Variable, "unset")
	expect(t, judgeProcessor(kernel.Off, kernel.Off, "amd64"), Look, "no AVX2")
	expect(t, judgeProcessor(kernel.Off, kernel.Off, "arm64"), OK, "plain Go")
}

func TestMemories(t *testing.T) {
	plan := budget.Plan{{Owner: budget.Model, Bytes: 200e6}}
	expect(t, judgeMemory(plan, 100e6, 0), OK)
	expect(t, judgeMemory(nil, 0, 1e9), OK, "1 GB free")
	expect(t, judgeMemory(plan, 100e6, 1e9), OK, "a peer takes at most 200 MB")
	expect(t, judgeMemory(plan, 100e6, 150e6), Look, "200 MB", "model")
	expect(t, judgeMemory(plan, 100e6, 110e6), Broken, "110 MB free", "smaller model")
}

func TestFileLimits(t *testing.T) {
	expect(t, judgeFiles(0, false, 8), OK)
	expect(t, judgeFiles(4096, true, 8), OK, "4096")
	expect(t, judgeFiles(256, true, 8), Look, "256", "ulimit")
	expect(t, judgeFiles(256, true, 64), Broken, "64 workers needs 320")
}

func TestOwnClocks(t *testing.T) {
	today := earliest.AddDate(1, 0, 0)
	expect(t, judgeClock(today, kept), OK)
	expect(t, judgeClock(today, keptUnknown), OK)
	expect(t, judgeClock(today, unkept), Look, "no time service", "timedatectl")
	expect(t, judgeClock(time.Unix(0, 0), kept), Broken, "1970")
}

// eth returns an interface with multicast and one address.
func eth(address string, mtu int) socket.Interface {
	return socket.Interface{Name: "eth0", MTU: mtu, Multicast: true, Addrs: []netip.Addr{netip.MustParseAddr(address)}}
}

func TestAddresses(t *testing.T) {
	lan := []socket.Interface{eth("192.168.1.10", 1500)}
	expect(t, judgeAddresses(lan, nil, true), OK, "192.168.1.10 (eth0)")
	expect(t, judgeAddresses(lan, []netip.Addr{netip.MustParseAddr("192.168.1.10")}, true), OK)
	expect(t, judgeAddresses(lan, []netip.Addr{netip.MustParseAddr("192.168.1.11")}, true), Broken,
		"the roster gives this machine 192.168.1.11")
	expect(t, judgeAddresses(nil, nil, true), Broken, "no interface", "ip address add")
	expect(t, judgeAddresses(nil, nil, false), Look)
	expect(t, judgeAddresses([]socket.Interface{eth("fe80::1", 1500)}, nil, true), Broken, "only link-local",
		"fe80::1 on eth0", "ip address add 192.168.77.1/24 dev eth0")
	expect(t, judgeAddresses([]socket.Interface{eth("169.254.7.8", 1500)}, nil, true), OK, "169.254.7.8 (eth0)")
}

func TestMTUs(t *testing.T) {
	judge := func(mtu int, quic bool) Row { return judgeMTU([]socket.Interface{eth("10.0.0.1", mtu)}, quic) }
	expect(t, judge(1500, true), OK, "eth0 1500")
	expect(t, judge(1420, true), OK)
	expect(t, judge(1200, false), Look, "1200", "IPv6", "ip link set eth0 mtu 1500")
	expect(t, judge(1200, true), Broken, "QUIC")
	expect(t, judgeMTU(nil, true), OK)
}

func TestMulticastOfAMachine(t *testing.T) {
	with := func(change func(*port)) []port {
		p := port{eth("10.0.0.1", 1500), true}
		change(&p)
		return []port{p}
	}
	expect(t, judgeMulticast(with(func(*port) {}), true), OK, "eth0")
	off := with(func(p *port) { p.Multicast = false })
	expect(t, judgeMulticast(off, true), Broken, "no interface", "multicast on", "peers:")
	expect(t, judgeMulticast(off, false), Look)
	expect(t, judgeMulticast(with(func(p *port) { p.echo = false }), true), Broken, "drops its own", "5353")
	expect(t, judgeMulticast([]port{{eth("fd00::1", 1500), false}}, true), OK, "eth0")
}

func TestAQuestionIsOne(t *testing.T) {
	q, other := newQuestion(), newQuestion()
	if string(q) == string(other) {
		t.Error("two questions are equal")
	}
	if q[5] != 1 || q[12] != 12 || !strings.Contains(string(q), "\x05local\x00\x00\x0c\x00\x01") {
		t.Errorf("%q is no question of DNS", q)
	}
}

func TestPorts(t *testing.T) {
	listen := []string{"/ip4/0.0.0.0/tcp/4001", "/ip4/0.0.0.0/udp/4002/quic-v1"}
	expect(t, judgePort(nil, listen, []string{"/ip4/10.0.0.1/tcp/4001"}), OK, "10.0.0.1")
	expect(t, judgePort(errors.New("listen on 4001: in use"), listen, nil), Broken, "cannot listen", "ports 4001, 4002",
		"node.listen")
}

// load returns the loader of a run file of four workers without data, with overrides.
func load(set ...string) func() (*configs.Loaded, error) {
	return func() (*configs.Loaded, error) {
		return configs.Load(configs.Source{Set: append([]string{"model={name: quadratic, dim: 10}", "topology.size=4"},
			set...)})
	}
}

func loaded(t *testing.T, set ...string) *configs.Loaded {
	t.Helper()
	l, err := load(set...)()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sesame is a join secret.
const sesame = "2cf24dba5fb0a30e26e83b2ac5b9e29e"

func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "lan.secret")
	if err := os.WriteFile(file, []byte(sesame+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	judged := func(set ...string) Row {
		l := loaded(t, set...)
		_, err := peer.Secret(l)
		return judgeSecret(l.Config, err)
	}
	expect(t, judged("node.join_secret_file="+file), OK, file)
	expect(t, judged("node.join_secret="+sesame), Look, "in the run file")
	expect(t, judged("node.join_secret=open sesame"), Broken, "too easy to guess", "peer id secret")
	expect(t, judged(), Broken, "anybody could join", "peer id secret")
	expect(t, judged("node.join_secret_file="+file+"x"), Broken, "peer id secret "+file+"x")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if os.PathSeparator == '/' {
		expect(t, judged("node.join_secret_file="+file), Broken, "mode 0644", "chmod 600 "+file)
	}
}

func TestData(t *testing.T) {
	cfg := loaded(t).Config
	expect(t, judgeData(cfg, nil), OK)
	expect(t, judgeData(cfg, &data.MissingError{Set: "mnist", File: "f", Dir: "d"}), Broken, "not found in d",
		"peer data fetch mnist")
	expect(t, judgeData(cfg, &data.ChecksumError{Set: "mnist", File: "f", Got: "1", Want: "2"}), Broken, "sha256",
		"peer data verify")
}

func TestKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peer.key")
	of := func(set ...string) *subject { return &subject{loaded: loaded(t, append(set, "node.key="+path)...)} }
	const listed = "peers=[{id: 12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN}]"
	expect(t, of().key(), OK, "peer run makes")
	expect(t, of("topology.size=1", listed).key(), Broken, "does not exist", "peer id new")
	who, err := peer.NewKey(path)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, of().key(), OK, who.ID())
	expect(t, of("topology.size=1", listed).key(), Broken, "the roster has others")
	p := of("topology.size=1", "peers=[{id: "+who.ID()+", addrs: [/ip4/10.0.0.1/tcp/1]}]")
	expect(t, p.key(), OK, "worker 0")
	if p.links.Identity == nil {
		t.Error("the key is not used")
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if os.PathSeparator == '/' {
		expect(t, of().key(), Broken, "chmod 600")
	}
}

func TestFolders(t *testing.T) {
	dir := t.TempDir()
	expect(t, judgeFolder(loaded(t, "output.dir="+filepath.Join(dir, "runs", "more")).Config), OK)
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("the check leaves %v", left)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, judgeFolder(loaded(t, "output.dir="+file).Config), Broken, "output.dir", "another folder")
	expect(t, judgeRoom("", nil, dir), OK)
	expect(t, judgeRoom("little room", nil, dir), Look, "little room")
	expect(t, judgeRoom("", errors.New("no room"), dir), Broken, "no room")
}

// A whole examination alone: the machines that are missing are a risk, or broken if all are wanted.
func TestAnExaminationAlone(t *testing.T) {
	set := []string{"node.join_secret=" + sesame, "node.listen=[/ip4/127.0.0.1/tcp/0]", "output.dir=" + t.TempDir(),
		"node.key=" + filepath.Join(t.TempDir(), "peer.key"), "name=alone-" + filepath.Base(t.TempDir())}
	for pairs, want := range map[bool]Verdict{false: Look, true: Broken} {
		r := Request{Load: load(set...), Pairs: pairs, Wait: time.Millisecond, Build: describe.ReadBuild()}
		report, err := Examine(t.Context(), r)
		of := func(check string) Row {
			for _, row := range report.Rows {
				if row.Check == check {
					return row
				}
			}
			t.Fatalf("no row %s in %+v", check, report.Rows)
			return Row{}
		}
		expect(t, of("peers"), want, "0 of 3 other machines met; 3 not heard of", "--wait")
		expect(t, of("run file"), OK, "4 workers")
		if broken, ok := errors.AsType[*brokenError](err); pairs && (!ok || !strings.Contains(broken.Error(), "peers")) {
			t.Errorf("error %v does not name the check", err)
		}
		if see := of("peers").See; see != "docs/doctor.md#peers" {
			t.Errorf("see %q", see)
		}
		var text strings.Builder
		if err := report.Write(&text); err != nil || !strings.Contains(text.String(), "fix: start peer doctor") {
			t.Errorf("%v\n%s", err, text.String())
		}
		if _, err := json.Marshal(report); err != nil {
			t.Error(err)
		}
	}
}

func TestABrokenRunFileIsARow(t *testing.T) {
	report, err := Examine(t.Context(), Request{Load: load("topology.size=many")})
	if _, ok := errors.AsType[*brokenError](err); !ok {
		t.Errorf("error %v", err)
	}
	for _, row := range report.Rows {
		if row.Check == "run file" {
			expect(t, row, Broken, "topology.size")
			return
		}
	}
	t.Errorf("no row in %+v", report.Rows)
}

// The manual has a section for every check that can complain.
func TestTheManualHasEveryCheck(t *testing.T) {
	page, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range order {
		if check != "program" && !strings.Contains(strings.ToLower(string(page)), "\n### "+strings.ToLower(check)+"\n") {
			t.Errorf("docs/doctor.md has no section %q", check)
		}
	}
}
