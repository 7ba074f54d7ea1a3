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
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/discovery/mdns"
	ma "github.com/multiformats/go-multiaddr"

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
// the host must listen already. found hears this host's own announcements too, see Others.
func Discover(ctx context.Context, h host.Host, run string, found func(peer.AddrInfo), log *slog.Logger) {
	if s := startMDNS(ctx, h, serviceName(run), found, log); s != nil {
		<-ctx.Done()
		closeSoon(s)
	}
}

// An announcer is a host for the library of mDNS, which drops announcements under the id of its host. After its own
// announcement the id is gone, so that a machine with a copy of the key is heard.
type announcer struct {
	host.Host
	announced atomic.Bool
}

// ID returns the id of the host, and none after its announcement.
func (a *announcer) ID() peer.ID {
	if a.announced.Load() {
		return ""
	}
	return a.Host.ID()
}

// Others returns a receiver of announcements that passes on those of other peers. twin hears announcements under this
// host's own id at addresses that it never had. They come from a machine with a copy of its key, or from a stranger.
func Others(h *socket.Host, found func(peer.AddrInfo), twin func(*socket.TwinError)) func(peer.AddrInfo) {
	var mu sync.Mutex
	own := make(map[string]bool)
	return func(who peer.AddrInfo) {
		if who.ID != h.ID() {
			found(who)
			return
		}
		listening, _ := h.Network().InterfaceListenAddresses() // without interfaces there are none
		mu.Lock()
		defer mu.Unlock()
		for _, a := range slices.Concat(listening, h.Addrs()) {
			own[a.String()] = true
		}
		foreign := slices.DeleteFunc(socket.Reachable(who.Addrs), func(a ma.Multiaddr) bool { return own[a.String()] })
		if len(foreign) > 0 {
			twin(h.Twin(foreign...))
		}
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
			own := &announcer{Host: h}
			s := mdns.NewMdnsService(own, service, found)
			if err = s.Start(); err == nil {
				own.announced.Store(true)
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
