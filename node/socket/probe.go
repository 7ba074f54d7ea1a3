package socket

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// ProbeProtocol is the protocol of streams that measure their connection. The end that has opened one asks for answers
// and bytes, and tells at last what it has measured.
const ProbeProtocol protocol.ID = "/gossiptrainer/path/1.0.0"

// A Speed is what a connection carries while nothing else uses it. The zero Speed is unknown.
type Speed struct {
	RTT  time.Duration
	Rate float64 // bits per second in the slower direction
}

// Time returns how long a message takes, infinitely long if the speed is unknown.
func (s Speed) Time(bytes int) time.Duration {
	took := s.RTT.Seconds() + 8*float64(bytes)/s.Rate
	if !(took < math.MaxInt32) {
		return math.MaxInt64
	}
	return time.Duration(took * float64(time.Second))
}

// A probe sends bursts of increasing length each way, until one takes long enough to tell the rate. A short burst would
// measure the buffers on the way: on fast links the last ones count, on slow links the first one that takes long.
const (
	pings      = 3
	lastBurst  = 128 << 10
	longEnough = 50 * time.Millisecond
	probeTime  = time.Second // bounds a probe
)

func bursts() []uint32 { return []uint32{8 << 10, 32 << 10, lastBurst, lastBurst} }

// request asks the other end to read a number of bytes, and how many of them each byte of its answer acknowledges.
const requestLen = 8

// tells is the first half of a request that tells the result: 8 bytes each of nanoseconds and bits per second follow.
const tells = math.MaxUint32

// Probe measures a connection, and returns how many bytes that took.
func (h *Host) Probe(ctx context.Context, c network.Conn) (Speed, int64, error) {
	s, err := h.OpenOn(ctx, c, ProbeProtocol)
	if err != nil {
		return Speed{}, 0, err
	}
	stop := context.AfterFunc(ctx, func() { s.Reset() })
	defer stop()
	p := prober{probing: h.probing(s)}
	speed, err := p.measure()
	if err != nil {
		s.Reset()
		return Speed{}, p.bytes, err
	}
	h.bytes.networks.learn(InterfaceTo(Remote(c)), speed)
	return speed, p.bytes, p.tell(speed)
}

// probing is one end of a probe.
type probing struct {
	host *Host
	s    network.Stream
	in   *bufio.Reader
}

func (h *Host) probing(s network.Stream) probing {
	s.SetDeadline(time.Now().Add(2 * probeTime))
	return probing{h, s, bufio.NewReader(s)}
}

// send sends n bytes in pieces that keep the limits of the link, the first of them those of head.
func (p *probing) send(head []byte, n int) error {
	id := p.s.Conn().RemotePeer()
	most := p.host.Pieces(id)
	buf := make([]byte, min(max(n, len(head)), max(most, len(head))))
	copy(buf, head)
	for n = max(n, len(head)); n > 0; {
		part := buf[:min(n, len(buf))]
		p.host.Pace(id, len(part), nil)
		if _, err := p.s.Write(part); err != nil {
			return err
		}
		n -= len(part)
	}
	return nil
}

// A prober is the end that measures.
type prober struct {
	probing
	bytes int64
}

// measure returns the speed of the connection.
func (p *prober) measure() (Speed, error) {
	began, speed := time.Now(), Speed{RTT: math.MaxInt64}
	for range pings {
		took, err := p.ask(0, 0)
		if err != nil {
			return Speed{}, err
		}
		speed.RTT = min(speed.RTT, took)
	}
	for i, n := range bursts() {
		up, err := p.ask(n, 0)
		down := up
		if err == nil && up < longEnough {
			down, err = p.ask(0, n)
		}
		if err != nil {
			return Speed{}, err
		}
		took := max(up, down)
		rate := 8 * float64(n) / max(took-speed.RTT, time.Microsecond).Seconds()
		if i == len(bursts())-1 {
			rate = max(rate, speed.Rate) // of equal bursts the better one counts: other work slows single ones down
		}
		speed.Rate = rate
		if took >= longEnough || time.Since(began) >= probeTime {
			break
		}
	}
	return speed, nil
}

// ask sends up bytes, and returns the time until the other end has read them and down bytes have come back.
func (p *prober) ask(up, down uint32) (time.Duration, error) {
	request := binary.LittleEndian.AppendUint32(nil, up)
	request = binary.LittleEndian.AppendUint32(request, down)
	began := time.Now()
	if err := p.send(request, requestLen+int(up)); err != nil {
		return 0, err
	}
	n, err := io.CopyN(io.Discard, p.in, int64(down)+1)
	p.bytes += requestLen + int64(up) + n
	return time.Since(began), err
}

// tell tells the other end the result.
func (p *prober) tell(speed Speed) error {
	text := binary.LittleEndian.AppendUint64(nil, tells) // and no answer
	text = binary.LittleEndian.AppendUint64(text, uint64(speed.RTT))
	text = binary.LittleEndian.AppendUint64(text, uint64(speed.Rate))
	if err := p.send(text, 0); err != nil {
		return err
	}
	p.s.Close() // a stream that is half open would keep its connection in use; the other end may have closed all of it
	return nil
}

var errProbe = errors.New("malformed probe")

// AnswerProbe is the other end of Probe. It returns what the end that has opened the stream has measured.
func (h *Host) AnswerProbe(s network.Stream) (Speed, error) {
	p := h.probing(s)
	speed, err := p.answer()
	if err != nil {
		s.Reset()
		return Speed{}, err
	}
	s.Close() // the other end may have closed all of it
	return speed, nil
}

// answer answers requests, as many as a probe has, until the result comes.
func (p *probing) answer() (Speed, error) {
	for range pings + 2*len(bursts()) + 1 {
		var request [requestLen]byte
		if _, err := io.ReadFull(p.in, request[:]); err != nil {
			return Speed{}, err
		}
		up, down := binary.LittleEndian.Uint32(request[:]), binary.LittleEndian.Uint32(request[4:])
		switch {
		case up == tells:
			return p.result()
		case up > lastBurst || down > lastBurst:
			return Speed{}, errProbe
		}
		if _, err := io.CopyN(io.Discard, p.in, int64(up)); err != nil {
			return Speed{}, err
		}
		if err := p.send(nil, int(down)+1); err != nil {
			return Speed{}, err
		}
	}
	return Speed{}, errProbe
}

// result reads what the other end has measured.
func (p *probing) result() (Speed, error) {
	var text [16]byte
	if _, err := io.ReadFull(p.in, text[:]); err != nil {
		return Speed{}, err
	}
	rtt, rate := binary.LittleEndian.Uint64(text[:]), binary.LittleEndian.Uint64(text[8:])
	if rtt > uint64(time.Hour) || rate == 0 || rate > 1<<60 {
		return Speed{}, errProbe
	}
	return Speed{time.Duration(rtt), float64(rate)}, nil
}
