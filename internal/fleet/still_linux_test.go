package fleet

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// All peers stand still while the command that started them does, and go on with it.
func TestPeersStandStill(t *testing.T) {
	errDone := errors.New("seen")
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &stage{t: t, still: make(chan func())}
	await := func(state int) {
		for _, cmd := range s.cmds {
			var info unix.Siginfo
			if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, state|unix.WNOWAIT, nil); err != nil {
				t.Error(err)
			}
		}
	}
	go func() {
		continued := make(chan struct{})
		s.still <- func() {
			await(unix.WSTOPPED)
			close(continued)
		}
		<-continued
		await(unix.WCONTINUED)
		cancel(errDone)
	}()
	if err := s.run(ctx, "wait", "wait", "wait"); !errors.Is(err, errDone) {
		t.Errorf("got %v, want the peers to go on until the end", err)
	}
}
