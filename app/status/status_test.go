package status

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/record"
	"gossiptrainer/node"
)

// A subject has a status.
type subject struct{ status node.Status }

func (s subject) Status() node.Status { return s.status }

// A guest is a member of a run that members join and leave.
type guest struct {
	subject
	membership *Membership
	stops      *int
}

func (g guest) Membership() *Membership { return g.membership }
func (g guest) Stop()                   { *g.stops++ }

// membership is that of a test, with all that can happen.
var membership = Membership{Run: "tulip", Member: 4, View: 3, First: 120, Why: "machine shelf left", Ends: 500,
	Members: []Person{{0, "attic"}, {4, "loft"}}, Joins: []Person{{5, "porch"}}, Leaves: []int{0}, Silent: []int{0}}

// serving starts a node that no other knows, with its server.
func serving(t *testing.T) (dir string, d *Server, said string) {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	n, err := node.New(node.Options{RunID: "r", N: 2, Dim: 1, Listen: []string{"/ip4/127.0.0.1/tcp/0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	cfg := configs.Default()
	cfg.Name, cfg.Node.Metrics = "tulip", "127.0.0.1:0"
	var text strings.Builder
	d, err = Open(cfg, "runs/tulip-1", 0, n, &text)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	dir, err = Folder()
	if err != nil {
		t.Fatal(err)
	}
	return dir, d, text.String()
}

func TestAPeerSaysHowItIsDoing(t *testing.T) {
	dir, d, _ := serving(t)
	info, err := os.Stat(d.path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); os.PathSeparator == '/' && mode != 0o600 {
		t.Errorf("mode %04o, want 0600", mode)
	}
	all := AskAll(dir)
	if len(all.Peers) != 1 || len(all.Silent) != 0 {
		t.Fatalf("%+v, want one peer", all)
	}
	s := all.Peers[0]
	folder, err := filepath.Abs("runs/tulip-1")
	if err != nil {
		t.Fatal(err)
	}
	if s.Run != "tulip" || s.Pid != os.Getpid() || s.Folder != folder || s.Rank != -1 ||
		s.State != record.Starting || s.Metrics == "" {
		t.Errorf("%+v", s)
	}
	var table strings.Builder
	if err := all.Write(&table, 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "tulip  -     1/2    0      -     starting") {
		t.Errorf("table:\n%s", table.String())
	}
	d.Close()
	if all := AskAll(dir); len(all.Peers) != 0 {
		t.Error("it answers when it is closed")
	}
}

func TestStaleSocketsAreRemovedAndHungProcessesNamed(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir, err := Folder()
	if err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(dir, "12.sock")
	l, err := net.Listen("unix", stale)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // as kill -9 leaves it
	l.Close()
	hung, err := net.Listen("unix", filepath.Join(dir, "34.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer hung.Close()
	all := AskAll(dir)
	if len(all.Peers) != 0 || len(all.Silent) != 1 || all.Silent[0] != 34 {
		t.Errorf("%+v, want that process 34 is silent", all)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("the stale socket: %v", err)
	}
}

// A question while a peer starts must not take its socket for one of a process that is gone.
func TestAPeerIsFoundThoughItIsAskedWhileItStarts(t *testing.T) {
	dir := t.TempDir()
	over := make(chan struct{})
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					AskAll(dir)
				}
			}
		})
	}
	lost := 0
	for pid := range 500 {
		l, err := listenAt(socketIn(dir, pid))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(socketIn(dir, pid)); err != nil {
			lost++
		}
		_, _ = os.Remove(socketIn(dir, pid)), l.Close()
	}
	close(over)
	asking.Wait()
	if lost > 0 {
		t.Errorf("%d of 500 sockets are lost", lost)
	}
}

// A peer that cron or ssh has started is found from a login, which has another folder for sockets. A user who names
// a folder asks there only.
func TestPeersOfOtherEnvironmentsAreFound(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", t.TempDir())
	there, err := Folder()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", fmt.Sprintf("/run/user/%d", os.Getuid()))
	if dirs, err := Folders(); err != nil || !slices.Contains(dirs, there) {
		t.Errorf("a login asks in %q, error %v, want %s among them", dirs, err, there)
	}
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	if dirs, err := Folders(); err != nil || len(dirs) != 1 || slices.Contains(dirs, there) {
		t.Errorf("with a folder of its own it asks in %q, error %v", dirs, err)
	}
	if err := os.Chmod(there, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", fmt.Sprintf("/run/user/%d", os.Getuid()))
	if dirs, _ := Folders(); os.PathSeparator == '/' && slices.Contains(dirs, there) {
		t.Errorf("it asks in %s, which others may enter", there)
	}
}

func TestAFolderForAllIsNoPlaceForSockets(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir, err := Folder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Folder(); os.PathSeparator == '/' && (err == nil || !strings.Contains(err.Error(), "chmod 700")) {
		t.Errorf("error %v, want what to do", err)
	}
}

func TestMetrics(t *testing.T) {
	_, _, said := serving(t)
	url := strings.TrimSpace(strings.TrimPrefix(said, "metrics: "))
	if !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("said %q", said)
	}
	reply, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reply.Body)
	reply.Body.Close()
	if err != nil || reply.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", reply.Status, err)
	}
	for _, want := range []string{
		`gossip_round{rank="-1",run="tulip"} 0`,
		`gossip_state{rank="-1",run="tulip",state="starting"} 1`,
		`gossip_bytes_total{direction="sent",layer="wire",rank="-1",run="tulip"}`,
		`gossip_seconds_total{of="wait",rank="-1",run="tulip"} 0`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// All that a node may say of a link becomes metrics that Prometheus takes.
func TestMetricsOfLinks(t *testing.T) {
	loss := 0.5
	s := node.Status{
		Rank: 3, Loss: &loss, Waiting: []int{1, 2}, Refused: map[string]int64{"stranger": 7},
		Links: []node.LinkStatus{{Neighbour: 2, Up: true, Silent: 4}, {Neighbour: 4, Lost: 5, Retries: 6}},
	}
	at, stop, err := serveMetrics("127.0.0.1:0", 3, &collector{"r", subject{s}})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	reply, err := http.Get("http://" + at + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, _ := io.ReadAll(reply.Body)
	for _, want := range []string{
		`gossip_loss{rank="3",run="r"} 0.5`,
		`gossip_waiting{neighbour="1",rank="3",run="r"} 1`,
		`gossip_refused_total{rank="3",reason="stranger",run="r"} 7`,
		`gossip_link_up{neighbour="2",rank="3",run="r"} 1`,
		`gossip_link_deadlines_total{neighbour="2",rank="3",run="r"} 4`,
		`gossip_link_lost_total{neighbour="4",rank="3",run="r"} 5`,
		`gossip_link_retries_total{neighbour="4",rank="3",run="r"} 6`,
		`gossip_link_bytes_total{direction="received",layer="payload",neighbour="4",rank="3",run="r"} 0`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestAnswersAreThoseOfARun(t *testing.T) {
	all := Answers{Silent: []int{7}, Peers: []Answer{
		{Run: "tulip", Pid: 1}, {Run: "rose", Pid: 2}, {Run: "tulip", Pid: 3}, {Run: "daisy", Pid: 4},
	}}
	found, err := all.Of("tulip")
	if err != nil || len(found.Peers) != 2 || found.Peers[1].Pid != 3 || len(found.Silent) != 1 {
		t.Errorf("%+v, error %v", found, err)
	}
	found, err = all.Of("violet")
	absent, ok := errors.AsType[*absentError](err)
	if !ok || len(found.Peers) != 0 || len(found.Silent) != 1 || absent.Hint() != "there are peers of tulip, rose, daisy" {
		t.Errorf("%+v, error %v", found, err)
	}
	if _, err := (Answers{}).Of("tulip"); err == nil || !strings.Contains(err.(*absentError).Hint(), "start one") {
		t.Errorf("error %v", err)
	}
}

// A member tells the view, who joins, leaves and is silent, and passes on that the run shall stop.
func TestAMemberTellsItsViewAndStopsTheRun(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir, err := Folder()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Stop("", dir); err == nil || !strings.Contains(err.Error(), "no peer is running") {
		t.Errorf("error %v, want that no peer is running", err)
	}
	cfg := configs.Default()
	cfg.Name = "tulip"
	stops := 0
	member := guest{subject{node.Status{Rank: 4, Peers: 2, Here: 1}}, &membership, &stops}
	s, err := Open(cfg, t.TempDir(), 0, member, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	all := AskAll(dir)
	var text strings.Builder
	if err := all.Write(&text, 0); err != nil {
		t.Fatal(err)
	}
	want := "tulip: view 3 from exchange 120 (machine shelf left): 2 members: 0 attic, 4 loft; joins: 5 porch; " +
		"leaves: 0; silent: 0\n"
	if !strings.Contains(text.String(), want) {
		t.Errorf("want %q in\n%s", want, text.String())
	}
	if _, err := Stop("rose", dir); err == nil || stops > 0 {
		t.Errorf("another run: error %v, %d stops", err, stops)
	}
	if answer, err := Stop("", dir); err != nil || !answer.Stopped || answer.Run != "tulip" || stops != 1 {
		t.Errorf("%+v, error %v, %d stops", answer, err, stops)
	}
	s.Close()
	if s, err = Open(cfg, t.TempDir(), 0, subject{}, io.Discard); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := Stop("tulip", dir); err == nil || !strings.Contains(err.Error(), "membership.mode: fixed") {
		t.Errorf("workers that stay: error %v", err)
	}
}

// Of the processes of a run on one machine the one with the newest view counts.
func TestTheNewestViewIsShown(t *testing.T) {
	old := membership
	old.View = 2
	got := newest([]*Membership{&old, &membership, {Run: "rose"}, &old})
	if len(got) != 2 || got[0].View != 3 || got[1].Run != "rose" {
		t.Errorf("%+v", got)
	}
}
