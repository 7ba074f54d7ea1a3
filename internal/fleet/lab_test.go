package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
)

// The test binary runs as a peer if this variable is set.
const roleVariable = "LAB_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role, os.Getenv("LAB_TEST_RANK")))
	}
	os.Exit(m.Run())
}

// play is a peer: it introduces itself, finishes one round, follows its role, and ends.
func play(role, rank string) int {
	if role == "parent" {
		return playParent()
	}
	client := Attach(os.Stdin, os.Stdout)
	ctx, cancel := client.Context(context.Background())
	defer cancel()
	if role == "stillborn" && os.Getenv("LAB_TEST_LIFE") == "0" {
		self, _ := os.FindProcess(os.Getpid())
		self.Kill()
		select {}
	}
	roster, err := client.Introduce(ctx, Contact{ID: "id" + rank,
		Addrs: []string{"/ip4/127.0.0.1/tcp/" + os.Getenv("LAB_TEST_LIFE") + rank}})
	if err != nil {
		return 0
	}
	var ids []string
	for _, c := range roster {
		ids = append(ids, c.ID+c.Addrs[0])
	}
	i, _ := strconv.Atoi(rank)
	client.Report(record.Event{Status: &record.Status{Rank: i, Detail: strings.Join(ids, " ")}})
	client.Report(record.Event{Step: &record.Step{Rank: i, Round: 7, Sent: record.Bytes{Wire: 10},
		Messages: record.Messages{Count: 3}}})
	switch role {
	case "finish", "stillborn":
		client.Done()
	case "die once", "die always":
		if role == "die always" || os.Getenv("LAB_TEST_LIFE") == "0" {
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
			select {}
		}
		for k := range 3 {
			sent := record.Bytes{Wire: int64(6 + k)}
			client.Report(record.Event{Step: &record.Step{Rank: i, Round: 6 + k, Time: time.Second, Sent: sent}})
			client.Report(record.Event{Score: &record.Score{Rank: i, Round: 8}})
		}
		client.Report(record.Event{Final: &record.Final{Rank: i, Messages: record.Messages{Count: 4}}})
		client.Done()
	case "rounds":
		playRounds(ctx, client, i)
	case "hold", "finished", "die holding", "die knowing":
		playEnding(ctx, client, role, i)
	case "fail":
		fmt.Fprintln(os.Stderr, "about to give up")
		client.Fail(Failure{Reason: "loss is NaN", Hint: "lower train.step_size", Code: 5})
		return 5
	case "fail once", "fail always":
		if role == "fail once" && os.Getenv("LAB_TEST_LIFE") != "0" {
			client.Done()
			return 0
		}
		client.Fail(Failure{Reason: "the script was killed", Hint: "look for memory", Code: 8, Again: true})
		return 8
	case "echo":
		client.Fail(Failure{Reason: "peer 2 stopped the run", Code: 4, Echo: true})
		return 4
	case "panic":
		panic("internal error: a peer that breaks")
	case "quit":
		return 0
	case "wait":
		<-ctx.Done()
	case "deaf":
		select {}
	}
	return 0
}

// playParent supervises two peers for ever, for the test that kills it.
func playParent() int {
	Run(context.Background(), Options{
		Peers: 2,
		Command: func(rank, life int) *exec.Cmd {
			cmd := command("deaf", rank, life)
			cmd.ExtraFiles = []*os.File{os.NewFile(3, "alive")}
			return cmd
		},
		Event: func(e record.Event) { fmt.Println("event") },
		Log:   func(int, string) {},
	})
	return 0
}

func command(role string, rank, life int) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "LAB_TEST_RANK="+strconv.Itoa(rank),
		"LAB_TEST_LIFE="+strconv.Itoa(life))
	return cmd
}

// A stage runs peers of the given roles and records their reports. alive reaches its end when no
// process is left.
type stage struct {
	t      *testing.T
	events []record.Event
	lines  []string
	onStep func()
	alive  *os.File
	grace  time.Duration

	restarts    int
	goOnWithout func(Failure) bool
	end         chan struct{}
	still       chan func()
	cmds        []*exec.Cmd
	script      []fault.Fault
	missed      []string
	newcomers   []string // roles of the peers that join, in order
}

func (s *stage) run(ctx context.Context, roles ...string) error {
	s.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	s.alive = r
	err = Run(ctx, Options{
		Peers: len(roles),
		Command: func(rank, life int) *exec.Cmd {
			cmd := command(slices.Concat(roles, s.newcomers)[rank], rank, life)
			cmd.ExtraFiles = []*os.File{w}
			s.cmds = append(s.cmds, cmd)
			return cmd
		},
		Still: s.still,
		Event: func(e record.Event) {
			s.events = append(s.events, e)
			if e.Step != nil && s.onStep != nil {
				s.onStep()
			}
		},
		Log:   func(rank int, line string) { s.lines = append(s.lines, fmt.Sprint(rank, " ", line)) },
		Grace: s.grace, Restarts: s.restarts, Expendable: s.goOnWithout, End: s.end, Script: s.script,
		Missed: func(f fault.Fault, _ time.Duration) { s.missed = append(s.missed, f.String()) },
	})
	w.Close()
	if rest, err := io.ReadAll(r); err != nil || len(rest) != 0 {
		s.t.Errorf("the pipe that peers hold open: read %d bytes, %v", len(rest), err)
	}
	return err
}

func TestPeersAreIntroducedInRankOrderAndFinish(t *testing.T) {
	s := &stage{t: t}
	if err := s.run(t.Context(), "finish", "finish", "finish"); err != nil {
		t.Fatal(err)
	}
	want := "id0/ip4/127.0.0.1/tcp/00 id1/ip4/127.0.0.1/tcp/01 id2/ip4/127.0.0.1/tcp/02"
	heard := make(map[int]int)
	for _, e := range s.events {
		if e.Status != nil && e.Status.Detail != want {
			t.Errorf("peer %d got the roster %q, want %q", e.Status.Rank, e.Status.Detail, want)
		}
		if e.Step != nil {
			heard[e.Step.Rank]++
		}
	}
	if len(heard) != 3 || heard[0] != 1 || heard[1] != 1 || heard[2] != 1 {
		t.Errorf("steps heard per rank: %v, want one of each", heard)
	}
}

func TestOnePeerAlone(t *testing.T) {
	if err := (&stage{t: t}).run(t.Context(), "finish"); err != nil {
		t.Fatal(err)
	}
}

func TestAPeerThatEndsEarlyStopsTheRun(t *testing.T) {
	tests := []struct {
		role   string
		reason string
		hint   string
		code   int
		stderr string
	}{
		{"fail", "loss is NaN", "lower train.step_size", 5, "about to give up"},
		{"quit", "its process ended before its work was done", "", 1, ""},
		{"panic", "its process ended: exit status 2", "", 2, "panic: internal error: a peer that breaks"},
	}
	for _, tt := range tests {
		t.Run(tt.role, func(t *testing.T) {
			err := (&stage{t: t}).run(t.Context(), "wait", tt.role, "wait")
			peer, ok := errors.AsType[*PeerError](err)
			if !ok {
				t.Fatalf("got %v, want a *PeerError", err)
			}
			if peer.Rank != 1 || peer.Round != 7 || peer.Reason != tt.reason || peer.Hint != tt.hint || peer.Code != tt.code {
				t.Errorf("got %+v, want rank 1, round 7, reason %q, hint %q, code %d", peer, tt.reason, tt.hint, tt.code)
			}
			if tt.stderr != "" && (len(peer.Stderr) == 0 || peer.Stderr[0] != tt.stderr) {
				t.Errorf("last words %q, want them to begin with %q", peer.Stderr, tt.stderr)
			}
			if want := "lab: peer 1 (last record: round 7): " + tt.reason; err.Error() != want {
				t.Errorf("error %q, want %q", err, want)
			}
		})
	}
}

// Peers that stop because another one did report that at about the same time as that one reports why.
// The cause counts, in either order.
func TestThePeerThatOthersEchoIsNamed(t *testing.T) {
	for _, roles := range [][]string{{"echo", "echo", "fail", "wait"}, {"wait", "echo", "panic", "echo"}} {
		peer, ok := errors.AsType[*PeerError]((&stage{t: t}).run(t.Context(), roles...))
		if !ok || peer.Rank != 2 || peer.Code == 4 {
			t.Errorf("%v: got %+v, want peer 2's own words", roles, peer)
		}
	}
	err := (&stage{t: t, grace: 50 * time.Millisecond}).run(t.Context(), "wait", "echo", "wait")
	if peer, ok := errors.AsType[*PeerError](err); !ok || peer.Rank != 1 || peer.Code != 4 {
		t.Errorf("an echo of nothing: got %+v, want peer 1", peer)
	}
}

func TestAKilledPeerIsNamed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var killed *exec.Cmd
	heard := 0
	err := Run(ctx, Options{
		Peers: 2,
		Command: func(rank, life int) *exec.Cmd {
			cmd := command("wait", rank, life)
			if rank == 1 {
				killed = cmd
			}
			return cmd
		},
		Event: func(e record.Event) {
			if e.Step != nil {
				if heard++; heard == 2 {
					killed.Process.Kill()
				}
			}
		},
		Log: func(int, string) {},
	})
	peer, ok := errors.AsType[*PeerError](err)
	if !ok || peer.Rank != 1 || peer.Code != -1 || !strings.Contains(peer.Reason, "killed") {
		t.Errorf("got %v, want peer 1 killed", err)
	}
}

func TestAPeerThatCannotStartIsNamed(t *testing.T) {
	err := Run(t.Context(), Options{
		Peers:   2,
		Command: func(int, int) *exec.Cmd { return exec.Command("/no/such/program") },
		Event:   func(record.Event) {},
		Log:     func(int, string) {},
	})
	peer, ok := errors.AsType[*PeerError](err)
	if !ok || !strings.Contains(peer.Reason, "/no/such/program") {
		t.Errorf("got %v, want the program named", err)
	}
}

func TestCancelStopsAllPeers(t *testing.T) {
	errSignal := errors.New("interrupt")
	for _, role := range []string{"wait", "deaf"} {
		t.Run(role, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			s := &stage{t: t, onStep: func() { cancel(errSignal) }, grace: 100 * time.Millisecond}
			if err := s.run(ctx, role, role, role); !errors.Is(err, errSignal) {
				t.Errorf("got %v, want the cause of the cancellation", err)
			}
		})
	}
}

func TestNoPeerOutlivesItsSupervisor(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	parent := command("parent", 0, 0)
	parent.ExtraFiles = []*os.File{w}
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	lines := bufio.NewScanner(out)
	for range 4 { // a status and a step of each peer: both are running
		lines.Scan()
	}
	parent.Process.Kill()
	parent.Wait()
	if _, err := io.ReadAll(r); err != nil { // ends when no peer holds the pipe
		t.Error(err)
	}
}

func TestTheEndOfInputEndsAPeer(t *testing.T) {
	in, parent := io.Pipe()
	client := Attach(in, io.Discard)
	ctx, cancel := client.Context(t.Context())
	defer cancel()
	parent.Close()
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, ErrParentGone) {
		t.Errorf("cause %v, want %v", err, ErrParentGone)
	}
	if _, err := client.Introduce(ctx, Contact{}); !errors.Is(err, ErrParentGone) {
		t.Errorf("introduce: %v, want %v", err, ErrParentGone)
	}
}

func TestNoticesSurviveTheirEncoding(t *testing.T) {
	text, err := json.Marshal(notice{Event: &record.Event{Status: &record.Status{Rank: 3, State: record.Waiting,
		Missing: []int{2, 4}}}})
	if err != nil {
		t.Fatal(err)
	}
	var back notice
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back.Ready != nil || back.Failed != nil || back.Done || back.Event == nil ||
		!slices.Equal(back.Event.Status.Missing, []int{2, 4}) {
		t.Errorf("%s came back as %+v", text, back)
	}
}

func TestLinesThatAreNoNoticesAreLogged(t *testing.T) {
	all := make(chan news, 4)
	source{2, all}.readNotices(strings.NewReader("\nstray output\n{\"done\":true}\nno end"))
	close(all)
	var lines []string
	done := 0
	for n := range all {
		if n.notice.Done {
			done++
		} else {
			lines = append(lines, n.line)
		}
	}
	if want := []string{"stray output", "no end"}; !slices.Equal(lines, want) || done != 1 {
		t.Errorf("logged %q and %d done, want %q and 1", lines, done, want)
	}
}

func TestWordsKeepTheLastLinesAndTheHeadOfACrash(t *testing.T) {
	var w lastLines
	for i := range 20 {
		w.add(strconv.Itoa(i))
	}
	if want := []string{"14", "15", "16", "17", "18", "19"}; !slices.Equal(w.lines, want) {
		t.Errorf("kept %q, want %q", w.lines, want)
	}
	w.add("panic: x")
	for i := range 20 {
		w.add(strconv.Itoa(i))
	}
	if want := []string{"panic: x", "0", "1", "2", "3", "4"}; !slices.Equal(w.lines, want) {
		t.Errorf("kept %q, want %q", w.lines, want)
	}
}
