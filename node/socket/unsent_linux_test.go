package socket

import (
	"syscall"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"
	"golang.org/x/sys/unix"
)

// Both ends of a connection can limit what waits in the kernel.
func TestPromptLimitsWhatWaitsInTheKernel(t *testing.T) {
	there, back := connected(t, listening(t, nil), listening(t, nil))
	for _, c := range []network.Conn{there, back} {
		var below *countedConn
		if !c.As(&below) {
			t.Fatal("the connection below is unknown")
		}
		raw, err := below.Conn.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		limit := func() (bytes int) {
			if err := raw.Control(func(fd uintptr) {
				bytes, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT)
			}); err != nil {
				t.Fatal(err)
			}
			return bytes
		}
		if err != nil || limit() == mostUnsent {
			t.Fatalf("limit %d, %v before", limit(), err)
		}
		Prompt(c)
		if err != nil || limit() != mostUnsent {
			t.Errorf("limit %d, %v, want %d", limit(), err, mostUnsent)
		}
	}
}
