package join

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/discovery/mdns"

	"gossiptrainer/internal/node/socket"
)

// serviceName is the mDNS service of a run, so that runs on one network do not
// meet. Its label stays within the 15 characters of RFC 6763, section 7.2.
func serviceName(run string) string {
	sum := sha256.Sum256([]byte(run))
	return fmt.Sprintf("_gt-%x._udp", sum[:4])
}

// A notifee receives the peers that mDNS finds, in goroutines of mDNS.
type notifee func(peer.AddrInfo)

func (f notifee) HandlePeerFound(who peer.AddrInfo) { f(who) }

// Discover looks for peers of a run by multicast until ctx ends. It announces the current addresses:
// the host must listen already.
func Discover(ctx context.Context, h host.Host, run string, found func(peer.AddrInfo), log *slog.Logger) {
	if s := startMDNS(ctx, h, serviceName(run), found, log); s != nil {
		<-ctx.Done()
		closeSoon(s)
	}
}

// mostClosing bounds the end of discovery. Where no interface has IPv6, the library never ends its search, which it
// could not begin.
const mostClosing = time.Second

// closeSoon closes c, and leaves it behind if that takes too long.
func closeSoon(c io.Closer) {
	done := make(chan struct{})
	go func() {
		c.Close()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(mostClosing):
	}
}

// startMDNS announces h and looks for others. If no interface has multicast, one may still come up: it
// tries again until ctx ends, and then returns nil.
func startMDNS(ctx context.Context, h host.Host, service string, found notifee, log *slog.Logger) mdns.Service {
	for told := false; ; told = true {
		err := errNoMulticast
		if hasMulticast() {
			s := mdns.NewMdnsService(h, service, found)
			if err = s.Start(); err == nil {
				log.Debug("looking for peers by mDNS", "service", service)
				return s
			}
			s.Close()
		}
		if !told {
			log.Warn("no mDNS: only peers with an address in the run file are found", "err", err)
		}
		if !socket.Sleep(ctx, socket.LastRetry) {
			return nil
		}
	}
}

var errNoMulticast = errors.New("no interface that is up has multicast")

func hasMulticast() bool {
	all, err := net.Interfaces()
	return err != nil || slices.ContainsFunc(all, func(i net.Interface) bool {
		return i.Flags&net.FlagUp != 0 && i.Flags&net.FlagMulticast != 0
	})
}
