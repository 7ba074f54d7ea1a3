package hall

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gossiptrainer/gossip"
	views "gossiptrainer/gossip/view"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
	"gossiptrainer/node/join"
	"gossiptrainer/node/socket"
)

// newProcess returns a peer with a host on loopback, and the member that it is.
func newProcess(t *testing.T, id views.ID, secret string) (join.Process, views.Member) {
	t.Helper()
	who, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	p := join.Process{Log: slog.New(slog.DiscardHandler), Refused: new(socket.Refusals)}
	p.Gate = join.NewGate(8, p.Refused, p.Log)
	p.Host, err = socket.New(socket.Config{Key: who.Key(), Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Workers: 8,
		Gate: p.Gate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Host.Close() })
	t.Cleanup(p.Gate.Close)
	p.Admission = &handshake.Admission{Self: p.Host.ID(), Run: "crew", Secret: []byte(secret)}
	p.Hello = handshake.Hello{N: 2, Dim: 3, Rank: handshake.Unranked, Durable: gossip.Undurable, Epoch: uint64(id) + 1}
	return p, views.Member{ID: id, Key: p.Host.ID().String(), Address: p.Host.Addrs()[0].String() + " nonsense"}
}

const secret = "correct horse battery staple 7"

// A member gets what another one gives, however long it is and however long that takes, or why it has it not.
func TestMembersAskEachOther(t *testing.T) {
	large := bytes.Repeat([]byte("model"), pieceLen)
	release := make(chan struct{})
	mine, _ := newProcess(t, 0, secret)
	theirs, who := newProcess(t, 1, secret)
	asked := make(chan Request, 8)
	other := Open(theirs, time.Second, func(ctx context.Context, from string, r Request) ([]byte, error) {
		asked <- r
		if from != mine.Host.ID().String() {
			t.Errorf("%s asks, want %s", from, mine.Host.ID())
		}
		switch r.What {
		case "large":
			return large, nil
		case "slow":
			<-release
			return []byte("at last"), nil
		case "none":
			return nil, &AbsentError{"there is none"}
		}
		return nil, errors.New("try again")
	})
	defer other.Close()
	own := Open(mine, time.Second, nil)
	defer own.Close()
	request := Request{What: "large", To: 1, Round: 5, Call: 2}
	got, err := own.Ask(t.Context(), who, request, int64(len(large)))
	if err != nil || !bytes.Equal(got, large) || <-asked != request {
		t.Errorf("%d bytes, error %v", len(got), err)
	}
	if _, err := own.Ask(t.Context(), who, request, 10); err == nil || !strings.Contains(err.Error(), "at most 10") {
		t.Errorf("more bytes than wanted: error %v", err)
	}
	slow := time.AfterFunc(2*time.Second, func() { close(release) }) // longer than a member may be silent
	defer slow.Stop()
	if got, err := own.Ask(t.Context(), who, Request{What: "slow"}, 10); err != nil || string(got) != "at last" {
		t.Errorf("what takes long: %q, error %v", got, err)
	}
	_, err = own.Ask(t.Context(), who, Request{What: "none"}, 10)
	if absent, ok := errors.AsType[*AbsentError](err); !ok || absent.Why != "there is none" {
		t.Errorf("what is not there: error %v", err)
	}
	_, err = own.Ask(t.Context(), who, Request{What: "odd"}, 10)
	if _, absent := errors.AsType[*AbsentError](err); err == nil || absent {
		t.Errorf("what fails: error %v, want one after which to ask again", err)
	}
}

// Without the secret a stranger gets nothing.
func TestAStrangerGetsNothing(t *testing.T) {
	theirs, who := newProcess(t, 1, secret)
	other := Open(theirs, time.Second, func(context.Context, string, Request) ([]byte, error) {
		t.Error("a stranger is answered")
		return nil, nil
	})
	defer other.Close()
	mine, _ := newProcess(t, 0, "another secret of a stranger 9")
	own := Open(mine, time.Second, nil)
	defer own.Close()
	if _, err := own.Ask(t.Context(), who, Request{What: "large"}, 10); err == nil {
		t.Error("no error")
	}
}

// A member that closes its hall ends the questions that wait there.
func TestAHallThatClosesEndsQuestions(t *testing.T) {
	mine, _ := newProcess(t, 0, secret)
	theirs, who := newProcess(t, 1, secret)
	asked := make(chan struct{})
	other := Open(theirs, time.Second, func(ctx context.Context, _ string, _ Request) ([]byte, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	own := Open(mine, time.Second, nil)
	defer own.Close()
	failed := make(chan error, 1)
	go func() {
		_, err := own.Ask(t.Context(), who, Request{What: "slow"}, 10)
		failed <- err
	}()
	<-asked
	other.Close()
	if err := <-failed; err == nil {
		t.Error("no error")
	}
}
