package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"gossiptrainer/internal/bridge"
)

// The test binary is a script where its first argument is this.
const actor = "actor"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == actor {
		do := act
		if len(os.Args) > 2 {
			do = func() error { return play(os.Args[2]) }
		}
		if err := do(); err != nil {
			fmt.Fprintln(os.Stderr, actor, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// act joins, makes no step, and gives its state at the end. An interrupt kills it.
func act() error {
	conn, err := net.Dial("unix", os.Getenv("PEER_SOCKET"))
	if err != nil {
		return err
	}
	tensors := []bridge.Tensor{{Name: "w", Shape: []int{1}, Dtype: "float32"}}
	hello, err := bridge.AppendMessage(nil, bridge.KindHello, 0, bridge.Hello{Version: bridge.Version, Client: actor,
		Memory: bridge.Frames, Outline: bridge.Outline{Tensors: tensors, Elements: 1}})
	if err != nil {
		return err
	}
	say := func(h bridge.Header, body string) []byte {
		head := make([]byte, bridge.HeaderLen)
		h.Length = uint64(len(body))
		h.Put(head)
		return append(head, body...)
	}
	if _, err := conn.Write(append(hello, say(bridge.Header{Kind: bridge.KindStart}, "\x00\x00\x00\x00")...)); err != nil {
		return err
	}
	for {
		head := make([]byte, bridge.HeaderLen)
		if _, err := io.ReadFull(conn, head); err != nil {
			return err
		}
		h, err := bridge.ParseHeader(head)
		if err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, conn, int64(h.Length)); err != nil {
			return err
		}
		if h.Kind != bridge.KindEnd {
			continue
		}
		state := say(bridge.Header{Kind: bridge.KindState, Round: h.Round}, "momentum")
		_, err = conn.Write(append(state, say(bridge.Header{Kind: bridge.KindBye, Round: h.Round}, "{}")...))
		return err
	}
}

// emptyRoom is the room of a worker without others.
type emptyRoom struct{ Room }

func alone() Topic { return nil }

// A run that is stopped after its last round waits for the state of the script before it interrupts the script. A
// slow machine gives the script no less time.
func TestAnInterruptWaitsForTheLastState(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stopped := errors.New("stopped")
	for name, end := range map[string]func(ctx context.Context, c *Child){
		"after its last round": func(ctx context.Context, c *Child) { c.Stop(ctx, stopped, 3, []float32{1}) },
		"at the end":           func(ctx context.Context, c *Child) { _, _, _ = c.Finish(ctx, 3, 3, []float32{1}) },
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Begin(t.Context(), Options{Command: []string{self, actor}, Out: t.Output(),
				Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.Enter(t.Context(), emptyRoom{}, alone)
			if err := c.Welcome(Place{Size: 1, Rounds: 3, Most: 3}, []float32{0}, nil); err != nil {
				t.Fatal(err)
			}
			c.after = func(d time.Duration, f func()) func() bool { // a slow machine
				if d < time.Second {
					f()
				}
				return func() bool { return true }
			}
			kept := ""
			c.SaveBefore(3)
			c.AtEnd(func(blob []byte) error { kept = string(blob); return nil })
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			end(ctx, c)
			if kept != "momentum" {
				t.Errorf("the state %q is kept after the last round, want that of the script", kept)
			}
		})
	}
}

// A script that has ended well, or steps no more, resumes nothing: that it gives no last state is no news.
func TestScriptsThatEndWellOweNoState(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"finish end|step", "finish end|finish end", "|step"} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			if _, err := (Place{Most: 1, Rounds: 1, Checkpoints: true}).run(t, words); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A script that says BYE ends well only if its exit code says so too. Else the others do not train on to their end.
func TestAnExitCodeAfterTheLastWordEndsTheRun(t *testing.T) {
	t.Parallel()
	_, err := Place{Most: math.MaxInt32}.run(t, "loop|step quit")
	if err == nil || !strings.Contains(err.Error(), "ended with exit code 3 after round 1") {
		t.Errorf("the run ends with %v", err)
	}
}
