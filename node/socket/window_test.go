package socket

import (
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/internal/shape"
	"gossiptrainer/topology"
)

// In virtual time, without delays of the machine, streams used both ways at once get the rate of the
// link.
func TestShapedStreamsUseTheirLink(t *testing.T) {
	for _, link := range []shape.Link{
		{Rate: 1e6, Latency: time.Millisecond}, {Rate: 1e6, Latency: 20 * time.Millisecond},
		{Rate: 2e7, Latency: 20 * time.Millisecond},
		{Rate: 1e8, Latency: 150 * time.Microsecond}, {Rate: 1e8, Latency: 20 * time.Millisecond},
		{Rate: 5e8, Latency: 150 * time.Microsecond}, {Rate: 5e8, Latency: 10 * time.Millisecond},
		{Rate: 5e8, Latency: 20 * time.Millisecond}, {Rate: 5e8, Latency: 30 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%gMbit/%v", link.Rate/1e6, link.Latency), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testGoodput(t, link) })
		})
	}
}

func testGoodput(t *testing.T, link shape.Link) {
	var shapers [2]*shaper
	var streams [2]network.MuxedStream
	hangUp := shapedSession(t, link, &shapers, &streams)
	defer hangUp()
	half := int(link.Rate / 8 / 2) // of a second
	shares := make(chan float64)
	for i, from := range streams {
		to := streams[1-i]
		go func() {
			piece := make([]byte, shapers[i].pieces(""))
			for n := 0; n < 3*half; n += len(piece) {
				shapers[i].pace("", len(piece), nil)
				if _, err := from.Write(piece); err != nil {
					return
				}
			}
		}()
		go func() {
			io.CopyN(io.Discard, to, int64(half))
			began := time.Now()
			io.CopyN(io.Discard, to, int64(2*half))
			shares <- 1 / time.Since(began).Seconds()
		}()
	}
	for range streams {
		if share := <-shares; share < 0.98 || share > 1.01 { // within a piece

			t.Errorf("a direction gets %.4f of the rate, want 0.98 to 1.01", share)
		}
	}
}

// shapedSession opens a stream between two shaped ends.
func shapedSession(
	t *testing.T, link shape.Link, shapers *[2]*shaper, streams *[2]network.MuxedStream,
) (hangUp func()) {
	var ends [2]net.Conn
	ends[0], ends[1] = net.Pipe()
	var sessions [2]network.MuxedConn
	for i := range sessions {
		shapers[i] = dreamed(shape.Network{Uplink: link})
		shaped := shapers[i].shape(pipeConn{ends[i]}, func() peer.ID { return "" })
		var err error
		if sessions[i], err = muxer(shapers[i].window()).NewConn(shaped, i == 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if streams[0], err = sessions[0].OpenStream(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := streams[0].Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if streams[1], err = sessions[1].AcceptStream(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(streams[1], make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return func() {
		for i := range sessions {
			sessions[i].Close()
			ends[i].Close()
		}
		<-time.After(2 * lastWords)
	}
}

func TestTheSlowestLinkIsFound(t *testing.T) {
	mixed := shape.Network{
		Uplink: shape.Link{Rate: 1e9},
		Links:  map[[2]topology.Rank]shape.Link{{0, 1}: {Rate: 3e5}, {1, 2}: {Latency: time.Second}, {2, 3}: {Rate: 1e6}},
	}
	for _, test := range []struct {
		network shape.Network
		want    float64
	}{{shape.Network{}, 0}, {shape.Network{Uplink: shape.Link{Rate: 1e8}}, 1e8}, {mixed, 3e5}} {
		if got := newShaper(test.network, false).slowest(); got != test.want {
			t.Errorf("%+v: %v bits per second, want %v", test.network, got, test.want)
		}
	}
}

func TestWindowsFitTheLinks(t *testing.T) {
	for _, test := range []struct {
		network shape.Network
		want    uint32
	}{
		{shape.Network{}, leastWindow},
		{shape.Network{Uplink: shape.Link{Latency: time.Second}}, leastWindow},
		{shape.Network{Uplink: shape.Link{Rate: 1e8, Latency: 20 * time.Millisecond}}, leastWindow},
		{shape.Network{Uplink: shape.Link{Rate: 5e8, Latency: 20 * time.Millisecond}}, mostWindow},
		{shape.Network{Uplink: shape.Link{Rate: 1e10, Latency: 20 * time.Millisecond}}, mostWindow},
	} {
		if got := newShaper(test.network, false).window(); got != test.want {
			t.Errorf("%+v: a window of %d bytes, want %d", test.network.Uplink, got, test.want)
		}
	}
}
