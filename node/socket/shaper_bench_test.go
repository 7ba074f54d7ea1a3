package socket

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"gossiptrainer/internal/shape"
)

// BenchmarkShapedLink compares a shaped link with its limits. It reports the goodput of a stream over
// TLS and yamux as a share of the rate, the lesser of both directions used at once. It also reports by
// how many milliseconds a one-way message exceeds the latency on the idle link.
func BenchmarkShapedLink(b *testing.B) {
	for _, rate := range []float64{1e6, 2e7, 1e8, 5e8} {
		for _, latency := range []time.Duration{150 * time.Microsecond, 20 * time.Millisecond} {
			b.Run(fmt.Sprintf("%gMbit/%v", rate/1e6, latency), func(b *testing.B) {
				link := shape.Link{Rate: rate, Latency: latency}
				for b.Loop() {
					there, back := shapedStream(b, link)
					late := medianEcho(b, there, back)/2 - latency
					b.ReportMetric(float64(late)/float64(time.Millisecond), "ms-late")
					b.ReportMetric(goodput(b, rate, there, back), "goodput/rate")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

const shapedProtocol protocol.ID = "/shaped"

// An end is an end of a stream, with the shaper of its host.
type end struct {
	network.Stream
	shaper *shaper
}

// shapedStream returns the ends of a stream between two hosts on a link.
func shapedStream(b *testing.B, link shape.Link) (there, back end) {
	var hosts [2]*Host
	for i := range hosts {
		hosts[i] = listening(b, func(c *Config) { c.Network = shape.Network{Uplink: link} })
	}
	accepted := make(chan network.Stream, 1)
	hosts[1].SetStreamHandler(shapedProtocol, func(s network.Stream) { accepted <- s })
	if err := hosts[0].Connect(b.Context(), peer.AddrInfo{ID: hosts[1].ID(), Addrs: hosts[1].Addrs()}); err != nil {
		b.Fatal(err)
	}
	opened, err := hosts[0].NewStream(b.Context(), hosts[1].ID(), shapedProtocol)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := opened.Write([]byte{0}); err != nil {
		b.Fatal(err)
	}
	there, back = end{opened, hosts[0].bytes.shaper}, end{<-accepted, hosts[1].bytes.shaper}
	if _, err := io.ReadFull(back, make([]byte, 1)); err != nil {
		b.Fatal(err)
	}
	return there, back
}

// medianEcho returns the median round trip of single bytes.
func medianEcho(b *testing.B, there, back end) time.Duration {
	const count = 11
	var trips []time.Duration
	one := make([]byte, 1)
	for range count {
		began := time.Now()
		for _, hop := range [][2]end{{there, back}, {back, there}} {
			if _, err := hop[0].Write(one); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(hop[1], one); err != nil {
				b.Fatal(err)
			}
		}
		trips = append(trips, time.Since(began))
	}
	slices.Sort(trips)
	return trips[count/2]
}

// goodput returns the share of the rate that a stream gets, the lesser of both directions used at
// once. It measures for two seconds, after one second in which the windows of yamux grow.
func goodput(b *testing.B, rate float64, there, back end) float64 {
	second := int(rate / 8)
	shares := make(chan float64)
	for _, way := range [][2]end{{there, back}, {back, there}} {
		from, to := way[0], way[1]
		go from.send(to.Conn().LocalPeer(), 3*second)
		go func() {
			_, warm := io.CopyN(io.Discard, to, int64(second))
			began := time.Now()
			if _, err := io.CopyN(io.Discard, to, 2*int64(second)); err != nil || warm != nil {
				b.Error(warm, err)
			}
			shares <- 2 / time.Since(began).Seconds()
		}()
	}
	return min(<-shares, <-shares)
}

// send writes bytes as a link writes frames; the other end sees failures.
func (e end) send(to peer.ID, total int) {
	piece := make([]byte, e.shaper.pieces(to))
	for total > 0 {
		n := min(total, len(piece))
		e.shaper.pace(to, n, nil)
		if _, err := e.Write(piece[:n]); err != nil {
			return
		}
		total -= n
	}
}
