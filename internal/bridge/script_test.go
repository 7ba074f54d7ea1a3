package bridge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gossiptrainer/gossip/pace"
	"gossiptrainer/internal/witness"
)

func start(t *testing.T, o Options) *Script {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Kill()
		_ = s.Wait()
		if _, err := os.Stat(s.ear.folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder of the socket is still there: %v", err)
		}
	})
	return s
}

// memories are those of this system.
func memories() []Memory {
	if haveMemfd {
		return []Memory{Memfd, Frames}
	}
	return []Memory{Frames}
}

// overTCP stands for frames over a port.
const overTCP Memory = "tcp"

// begin has a script join and welcomes it to a run of 4 rounds.
func begin(t *testing.T, s *Script, blob []byte) []float32 {
	t.Helper()
	o, x, err := s.Hello(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := outline(); !cmp.Equal(o, want) || len(x) != want.Elements {
		t.Fatalf("outline %v and %d elements, want %v", o, len(x), want)
	}
	if err := s.Welcome(Welcome{Run: "test", Rank: 3, Size: 8, Rounds: 4, Seed: 9}, x, blob); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestAScriptTrains(t *testing.T) {
	for _, memory := range append(memories(), overTCP) {
		t.Run(string(memory), func(t *testing.T) {
			var out witness.Page
			var losses, rates, scores []string
			s := start(t, Options{Command: actor("trains", string(memory)), Rank: 3, Out: &out, Err: &out,
				TCP:    memory == overTCP,
				Loss:   func(k int, loss float64) { losses = append(losses, fmt.Sprint(k, " ", loss)) },
				Values: func(k int, v map[string]*float64) { rates = append(rates, fmt.Sprint(k, " ", len(v), " ", *v["lr"])) },
				Score: func(k int, v map[string]*float64) {
					scores = append(scores, fmt.Sprint(k, " ", *v["accuracy"], len(v)))
				}})
			x := begin(t, s, []byte("kept"))
			if want := []float32{1, 2, 3, 4, 5, 6, 7}; !slices.Equal(x, want) {
				t.Fatalf("start %v, want %v", x, want)
			}
			g := make([]float32, len(x))
			s.SaveBefore(2)
			for k := range 4 {
				loss, err := gradient(s, g, k, x)
				if err != nil {
					t.Fatal(err)
				}
				if loss != x[0]/2 {
					t.Errorf("round %d: loss %v, want %v", k, loss, x[0]/2)
				}
				for i := range x {
					if g[i] != x[i]/2 {
						t.Fatalf("round %d: g %v at x %v, want half of it", k, g, x)
					}
					x[i] -= g[i]
				}
				if k == 2 {
					if blob, err := s.State(2); err != nil || string(blob) != "state 2" {
						t.Errorf("state %q: %v", blob, err)
					}
				}
			}
			s.SaveBefore(4)
			if err := s.End(End{Why: Finished, Round: 4}, x); err != nil {
				t.Fatal(err)
			}
			if blob, err := s.State(4); err != nil || string(blob) != "state 4" {
				t.Errorf("state %q: %v", blob, err)
			}
			if act := <-acts(s); act.Kind != Calling || act.Call != 1 || act.Request.Kind != pace.Mean {
				t.Errorf("act %+v, want the call of a mean", act)
			}
			if err := s.Answer(1, Result{Kind: pace.Mean, Round: 4}, make([]byte, 28)); err != nil {
				t.Fatal(err)
			}
			if act := <-acts(s); act.Kind != Leaving {
				t.Errorf("act %+v, want that it leaves", act)
			}
			if err := s.Wait(); err != nil {
				t.Fatal(err)
			}
			if want := []string{"0 1 0.25", "1 1 0.25", "2 1 0.25", "3 1 0.25"}; !slices.Equal(rates, want) {
				t.Errorf("further values %q, want %q", rates, want)
			}
			want := "[3] rank 3 of 8, rounds 0 to 4, seed 9, blob \"kept\", start [1 2 3 4 5 6 7]\n" +
				"[3] final [0.0625 0.125 0.1875 0.25 0.3125 0.375 0.4375]\n" +
				"[3] result 1 {\"kind\":\"mean\",\"round\":4,\"moved\":false} 28 bytes\n"
			if out.String() != want {
				t.Errorf("output\n%swant\n%s", out.String(), want)
			}
			if want := []string{"0 0.5", "1 0.25", "2 0.125", "3 0.0625"}; !slices.Equal(losses, want) {
				t.Errorf("losses %q, want %q", losses, want)
			}
			if want := []string{"4 0.5 1"}; !slices.Equal(scores, want) {
				t.Errorf("scores %q, want %q", scores, want)
			}
			if spent := s.Spent(); spent.Rounds != 4 || spent.Script <= 0 {
				t.Errorf("spent %+v", spent)
			}
		})
	}
}

// Each script ends in its own way. The error of the call that waits says how, and so does Wait.
func TestDeathIsExplained(t *testing.T) {
	for role, want := range map[string]string{
		"silent": "ended with exit code 0 and never called gossiptrainer.join: " +
			"call gossiptrainer.join(model, optimizer) before",
		"exits 3":        "ended with exit code 3 and never called gossiptrainer.join: its output says why",
		"raises at once": "raised: ValueError: no parameters (exit code 1) when it joined",
		"raises":         "raised: RuntimeError: shapes differ (exit code 1) after round 1 of 4: look at layer 3",
		"is killed":      "was ended by a signal (killed) after round 1 of 4: a user killed it, or the system",
		"hangs up":       "closed its connection and goes on alone after round 1 of 4",
		"steps twice":    "breaks the protocol of the bridge: STEP 0",
	} {
		t.Run(role, func(t *testing.T) {
			if runtime.GOOS == "windows" && role == "is killed" {
				t.Skip("SKIPPED: there are no signals")
			}
			s := start(t, Options{Command: actor(role, string(memories()[0])), Rank: 3})
			err := lastError(s)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
			if role == "hangs up" {
				return // it has not ended
			}
			var exit *Exit
			if err := s.Wait(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Wait: %v, want %q", err, want)
			} else if role != "steps twice" && (!errors.As(err, &exit) || !strings.HasPrefix(err.Error(), "worker 3: ")) {
				t.Errorf("Wait: %#v is no *Exit of worker 3", err)
			}
		})
	}
}

// lastError goes through a run until a call fails.
func lastError(s *Script) error {
	_, x, err := s.Hello(context.Background())
	if err != nil {
		return err
	}
	if err := s.Welcome(Welcome{Rounds: 4}, x, nil); err != nil {
		return err
	}
	for k := range 4 {
		if _, err := gradient(s, make([]float32, len(x)), k, x); err != nil {
			return err
		}
	}
	return nil
}

// A wrong HELLO is refused at both ends.
func TestWrongHelloIsRefused(t *testing.T) {
	if !haveMemfd {
		t.Skip("SKIPPED: there is no memfd")
	}
	for role, want := range map[string]string{
		"bad size":        "the region has 4096 bytes: 5000 elements need 20000",
		"bad seals":       "the region has seals 0x0: add F_SEAL_SHRINK and F_SEAL_GROW",
		"bad version":     "the script speaks version 1 of the bridge, the peer version 2",
		"bad outline":     "tensor 0, \"x\": with it the tensors have 5000 elements, the vector 4999",
		"bad descriptors": "more than one descriptor came with HELLO",
		"bad descriptor":  "no descriptor came with memory \"memfd\"",
		"bad memory":      "memory \"mmap\": want \"memfd\" or \"frames\"",
		"bad file":        "the region",
		"bad key":         "unknown field \"colour\"",
	} {
		t.Run(role, func(t *testing.T) {
			var out witness.Page
			s := start(t, Options{Command: actor(role, t.TempDir()), Rank: -1, Out: &out})
			if _, _, err := s.Hello(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
			if err := s.Wait(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Wait: %v, want %q", err, want)
			}
			if told := strings.ReplaceAll(out.String(), `\"`, `"`); !strings.Contains(told, want) {
				t.Errorf("the script hears %q, want %q", told, want)
			}
		})
	}
}

func TestRefusedScriptHearsWhy(t *testing.T) {
	var out witness.Page
	s := start(t, Options{Command: actor("trains", string(memories()[0])), Rank: 0, Out: &out})
	if _, _, err := s.Hello(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Refuse("worker 1 has other tensors", "give all the same script")
	if err := s.Wait(); err == nil || err.Error() != "worker 1 has other tensors" {
		t.Errorf("Wait: %v", err)
	}
	if want := `{"message":"worker 1 has other tensors","hint":"give all the same script"}`; !strings.Contains(out.String(),
		want) {
		t.Errorf("the script hears %q, want %s", out.String(), want)
	}
}

// A script that ends with exit code 0 has ended well, at whatever round.
func TestScriptsMayEndEarly(t *testing.T) {
	for _, role := range []string{"leaves", "says bye", "stops in a header", "stops in a body"} {
		t.Run(role, func(t *testing.T) {
			s := start(t, Options{Command: actor(role, string(memories()[0])), Rank: 3})
			x := begin(t, s, nil)
			if _, err := gradient(s, make([]float32, len(x)), 0, x); err != nil {
				t.Fatal(err)
			}
			left := false
			for gone := false; !gone; {
				select {
				case act := <-acts(s):
					left = left || act.Kind == Leaving
				case <-lost(s):
					gone = true
				}
			}
			if err := s.Lost(); err != nil || left != (role == "says bye") {
				t.Errorf("lost %v, left %v", err, left)
			}
			if role == "says bye" {
				return // it has not ended
			}
			if err := s.Wait(); err != nil {
				t.Errorf("Wait: %v", err)
			}
		})
	}
}

// A script calls in its turn, and after FINISH, when it keeps its vector.
func TestAScriptCalls(t *testing.T) {
	for _, memory := range append(memories(), overTCP) {
		var out witness.Page
		s := start(t, Options{Command: actor("calls", string(memory)), Rank: 0, Out: &out, TCP: memory == overTCP})
		if err := s.End(End{}, nil); err == nil || !strings.Contains(err.Error(), "not the peer's turn") {
			t.Errorf("End before HELLO: %v", err)
		}
		x := begin(t, s, nil)
		g := make([]float32, len(x))
		answer := func(call, round int, moved bool, raw []byte) {
			t.Helper()
			act := <-acts(s)
			if act.Kind != Calling || act.Call != call {
				t.Fatalf("act %+v, want call %d", act, call)
			}
			if err := s.Answer(call, Result{Kind: act.Request.Kind, Round: round, Moved: moved}, raw); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := gradient(s, g, 0, x); err != nil {
			t.Fatal(err)
		}
		if err := s.Go(1, x); err != nil {
			t.Fatal(err)
		}
		answer(4, 1, false, make([]byte, 16))
		answer(5, 3, true, nil)
		if _, err := gradient(s, g, 3, x); err != nil { // the run went on to round 3
			t.Fatal(err)
		}
		if err := s.Go(4, x); err != nil {
			t.Fatal(err)
		}
		if act := <-acts(s); act.Kind != Finishing {
			t.Fatalf("act %+v, want that it finishes", act)
		}
		x[0] = 77
		if err := s.End(End{Why: Finished, Round: 5}, x); err != nil {
			t.Fatal(err)
		}
		if s.region.data[0] == 77 {
			t.Error("the vector of a script that has finished changes")
		}
		answer(6, 5, false, make([]byte, 28))
		if act := <-acts(s); act.Kind != Leaving {
			t.Fatalf("act %+v, want that it leaves", act)
		}
		if err := s.Wait(); err != nil {
			t.Error(err)
		}
		want := `[0] result 4 {"kind":"reduce","round":1,"moved":false} 16 bytes` + "\n" +
			`[0] result 5 {"kind":"barrier","round":3,"moved":true} 0 bytes` + "\n" +
			`[0] result 6 {"kind":"mean","round":5,"moved":false} 28 bytes` + "\n"
		if _, got, _ := strings.Cut(out.String(), "\n"); got != want {
			t.Errorf("output\n%swant\n%s", got, want)
		}
	}
}

func TestRequestsAreChecked(t *testing.T) {
	for _, test := range []struct {
		r    Request
		raw  int
		want string
	}{
		{Request{Kind: pace.Barrier}, 0, ""},
		{Request{Kind: pace.Reduce, Op: "max"}, 16, ""},
		{Request{Kind: pace.Broadcast, Root: 1}, 5, ""},
		{Request{Kind: pace.Broadcast, Root: 2}, 0, ""},
		{Request{Kind: "gather"}, 0, "no such call"},
		{Request{Kind: pace.Reduce, Op: "mode"}, 8, "want one of mean, sum, min, max"},
		{Request{Kind: pace.Reduce, Op: "sum"}, 9, "reduce of 9 bytes"},
		{Request{Kind: pace.Reduce, Op: "sum"}, 8 * (MaxReduced + 1), "want 1 to 8192"},
		{Request{Kind: pace.Broadcast, Root: 4}, 0, "a rank below 4"},
		{Request{Kind: pace.Broadcast, Root: 2}, 5, "with 5 bytes"},
		{Request{Kind: pace.Mean, Op: "sum"}, 0, "with an op"},
		{Request{Kind: pace.Mean}, 4, "with 4 bytes"},
	} {
		err := test.r.Check(1, 4, make([]byte, test.raw))
		if (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want %q", test.r, err, test.want)
		}
	}
}

// A timer keeps the calls that are due later; the test decides when.
type timer struct{ set chan func() }

func (tm timer) after(_ time.Duration, f func()) func() bool {
	tm.set <- f
	return func() bool { return true }
}

// ready waits for the line of a script that it is ready.
func ready(t *testing.T, from io.Reader) {
	t.Helper()
	if line, err := bufio.NewReader(from).ReadString('\n'); err != nil || line != "[0] ready\n" {
		t.Fatalf("line %q: %v", line, err)
	}
}

func TestInterruptIsSentOnce(t *testing.T) {
	from, to := io.Pipe()
	timers := timer{make(chan func(), 9)}
	s := start(t, Options{Command: actor("polite"), Rank: 0, Out: to, after: timers.after})
	ready(t, from)
	s.Interrupt()
	s.Interrupt()
	if len(timers.set) != 1 {
		t.Errorf("%d timers, want one", len(timers.set))
	}
	if err := s.Wait(); err != nil {
		t.Errorf("Wait: %v", err)
	}
	if code := s.child.cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d: the script has not ended itself", code)
	}
	s.Interrupt()
	s.Kill()
	if _, _, err := s.Hello(t.Context()); !errors.Is(err, errOrdered) {
		t.Errorf("Hello: %v", err)
	}
}

func TestStubbornScriptIsKilled(t *testing.T) {
	from, to := io.Pipe()
	timers := timer{make(chan func(), 9)}
	s := start(t, Options{Command: actor("stubborn"), Rank: 0, Out: to, after: timers.after})
	ready(t, from)
	s.Interrupt()
	if s.child.ended() {
		t.Fatal("an interrupt ended it")
	}
	(<-timers.set)()
	err := s.Wait()
	if err == nil || !strings.Contains(err.Error(), "did not end in time after the interrupt and was killed") {
		t.Errorf("Wait: %v", err)
	}
}

func TestKilledScriptIsNoError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	from, to := io.Pipe()
	s, err := Start(ctx, Options{Command: actor("stubborn"), Rank: 0, Out: to})
	if err != nil {
		t.Fatal(err)
	}
	ready(t, from)
	cancel()
	if err := s.Wait(); err != nil {
		t.Errorf("Wait: %v", err)
	}
}

func TestNoProcessOfTheScriptStays(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: it needs /proc and process groups")
	}
	var out witness.Page
	s := start(t, Options{Command: actor("forks", string(Memfd)), Rank: -1, Out: &out, linger: time.Minute})
	if err := lastError(s); !errors.Is(err, ErrLeft) {
		t.Errorf("error %v", err)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	_, text, _ := strings.Cut(out.String(), "worker ")
	pid, err := atoi(text)
	if err != nil {
		t.Fatalf("output %q: %v", out.String(), err)
	}
	for !gone(pid) { // the kernel closes its output first
		runtime.Gosched()
	}
}

// A process that has left the group holds the connection and the output. Nothing waits for it.
func TestEscapedProcessIsNotWaitedFor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: it needs process groups")
	}
	var out witness.Page
	s := start(t, Options{Command: actor("escapes", string(Memfd)), Rank: -1, Out: &out, linger: 100 * time.Millisecond})
	if err := lastError(s); !errors.Is(err, ErrLeft) {
		t.Errorf("error %v", err)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	_, text, _ := strings.Cut(out.String(), "worker ")
	pid, err := atoi(text)
	if err != nil {
		t.Fatalf("output %q: %v", out.String(), err)
	}
	if gone(pid) {
		t.Error("the process has ended, so that the test shows nothing")
	}
	if p, err := os.FindProcess(pid); err != nil || p.Kill() != nil {
		t.Errorf("kill process %d: %v", pid, err)
	}
}

func TestTheScriptDiesWithItsPeer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only the Linux kernel ends children")
	}
	peer := exec.Command(os.Args[0], roleFlag+"parent")
	out, err := peer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := peer.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Fatalf("line %q: %v", line, err)
	}
	_ = peer.Process.Kill()
	// the output ends when the script, which holds it, has ended
	if _, err := lines.ReadString('\n'); !errors.Is(err, io.EOF) {
		t.Errorf("after the death of the peer: %v", err)
	}
	_ = peer.Wait()
}

func TestEnvironmentOfTheScript(t *testing.T) {
	env := environment([]string{"PYTHONPATH=a", "PYTHONPATH=b"}, "ours", []string{"PEER_SOCKET=sock"})
	want := []string{"PEER_SOCKET=sock", "PYTHONPATH=ours" + string(os.PathListSeparator) + "b", "PYTHONUNBUFFERED=1"}
	if !slices.Equal(env[2:], want) {
		t.Errorf("environment %q, want %q at its end", env, want)
	}
	env = environment([]string{"PYTHONUNBUFFERED=x"}, "", []string{"PEER_SOCKET=sock"})
	if want := []string{"PYTHONUNBUFFERED=x", "PEER_SOCKET=sock"}; !slices.Equal(env, want) {
		t.Errorf("environment %q, want %q", env, want)
	}
	t.Setenv("PYTHONPATH", "theirs")
	t.Setenv("PEER_SEED", "1")
	var out witness.Page
	s := start(t, Options{Command: actor("environment"), Rank: 1, Out: &out, PythonPath: "ours",
		Env: []string{"PEER_SEED=7"}})
	if err := s.Wait(); err == nil {
		t.Error("no error of a script that never joins")
	}
	if want := "[1] ours" + string(os.PathListSeparator) + "theirs 1 7\n"; out.String() != want {
		t.Errorf("output %q, want %q", out.String(), want)
	}
}

func TestCommandsThatCannotStart(t *testing.T) {
	if _, err := Start(t.Context(), Options{}); err == nil {
		t.Error("an empty command starts")
	}
	_, err := Start(t.Context(), Options{Command: []string{"no-such-program-anywhere"}, Out: &witness.Page{}})
	if err == nil || !strings.Contains(err.Error(), "no-such-program-anywhere") ||
		!strings.Contains(err.Error(), "after --") {
		t.Errorf("error %v", err)
	}
}

func TestTheSocketIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: files have other permissions")
	}
	e, err := listen(false)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	for path, want := range map[string]os.FileMode{e.folder: 0o700, e.address: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v: want %v", path, info, err, want)
		}
	}
	t.Setenv("TMPDIR", t.TempDir()+strings.Repeat("/x", 50))
	if err := os.MkdirAll(os.Getenv("TMPDIR"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(false); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("a long path: %v", err)
	}
}

// All users of this machine may call a port. Callers with another token, or none, get no answer. None of them holds up
// the script with the right one.
func TestAPortNeedsItsToken(t *testing.T) {
	e, err := listen(true)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	address, ok := strings.CutPrefix(e.address, "tcp://127.0.0.1:")
	if !ok || len(e.token) != 64 {
		t.Fatalf("address %s, a token of %d characters", e.address, len(e.token))
	}
	dial := func(token string) net.Conn {
		c, err := net.Dial("tcp", "127.0.0.1:"+address)
		if err == nil {
			_, err = io.WriteString(c, token)
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	found := make(chan error, 1)
	var told []string
	refused := make(chan error)
	go func() {
		c, err := e.accept(os.Getuid(), func(err error) { refused <- err })
		if err == nil {
			_, err = io.WriteString(c, "hello")
		}
		found <- err
	}()
	silent := dial("")
	defer silent.Close()
	for _, wrong := range []string{strings.Repeat("0", 64), strings.ToUpper(e.token[:63]) + "z"} {
		c := dial(wrong)
		told = append(told, (<-refused).Error())
		if got, err := io.ReadAll(c); len(got) > 0 || err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a caller with another token reads %q: %v", got, err)
		}
	}
	c := dial(e.token)
	if err := <-found; err != nil {
		t.Fatal(err)
	}
	if got := make([]byte, 5); len(told) != 2 || !strings.Contains(told[0], "it gave another token") {
		t.Errorf("told %q", told)
	} else if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestOtherUsersAreRefused(t *testing.T) {
	if !haveMemfd {
		t.Skip("SKIPPED: only Linux tells the user of a call")
	}
	e, err := listen(false)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	stranger, err := net.Dial("unix", e.address)
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	var refusal error
	_, err = e.accept(os.Getuid()+1, func(err error) {
		refusal = err
		e.close()
	})
	want := fmt.Sprintf("process %d of user %d called: only user %d may", os.Getpid(), os.Getuid(), os.Getuid()+1)
	if err == nil || refusal == nil || refusal.Error() != want {
		t.Errorf("accept: %v, refusal %v, want %q", err, refusal, want)
	}
	if _, err := stranger.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the stranger reads: %v", err)
	}
}
