package socket

import (
	"syscall"

	"github.com/libp2p/go-libp2p/core/network"
)

// mostUnsent is how many bytes of a connection may wait in the kernel after Prompt: a TLS record, which takes 13 ms at
// 10 Mbit/s.
const mostUnsent = 16 << 10

// Prompt makes writes to c wait until all but a few bytes have been sent. Without it the kernel takes whole messages and
// sends those of all connections side by side. It has no effect over QUIC, or where the kernel knows no such limit.
func Prompt(c network.Conn) {
	var below *countedConn
	if !c.As(&below) {
		return
	}
	if tcp, ok := below.Conn.(syscall.Conn); ok {
		if raw, err := tcp.SyscallConn(); err == nil {
			limitUnsent(raw, mostUnsent)
		}
	}
}
