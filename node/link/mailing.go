package link

import (
	"fmt"
	"log/slog"
	"sync"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/wire/still"
	"gossiptrainer/internal/work"
	"gossiptrainer/node/socket"
	"gossiptrainer/quant"
)

// A mailroom makes what the links of a worker share: the headers, and so the checksums, of frames to several
// neighbours, and their coded payloads. The links' writers do its work, not the driver.
type mailroom struct {
	work.Coding              // its Layout and Span know the state of the driver, which alone calls them
	start       *still.Start // what payloads leave out; nil: nothing
	refused     *socket.Refusals
	log         *slog.Logger

	encoding sync.Mutex // guards encoder
	encoder  *entropy.Encoder

	mu   sync.Mutex // guards the fields below
	free []*mailing
	held int // bytes of the coded payloads' buffers in free
}

// codedRoom bounds the bytes of free buffers for coded payloads; one may be longer.
const codedRoom = 8 << 20

// newMailroom returns the mailroom that c asks for.
func newMailroom(c *Config) (*mailroom, error) {
	m := &mailroom{Coding: c.Coding, start: still.New(c.Coding.Still), refused: c.Refused, log: c.Log}
	if m.Entropy == entropy.Plain {
		return m, nil
	}
	costs := entropy.Typical()
	var err error
	if m.Entropy == entropy.Auto {
		if costs, err = measureCosts(); err != nil {
			return nil, err
		}
	}
	if m.encoder, err = entropy.NewEncoder(m.Entropy, costs); err != nil {
		return nil, err
	}
	return m, nil
}

// A mailing is one frame to several neighbours: a piece of a message. The first link to reach it makes its header and
// codes it; the last one to have sent it returns its buffer. A mailing in a link that is lost is lost as well.
type mailing struct {
	room  *mailroom
	frame gossip.Frame
	cost  entropy.LinkCost
	parts quant.Layout // of the payload
	still still.Span   // of the payload

	mu    sync.Mutex
	made  bool
	coder entropy.Coder // the coder of coded; Plain: the payload is sent without coding
	coded []byte
	of    wire.Header // the header that head has
	head  [wire.HeaderLen]byte
	left  int // links that have not sent it
}

// codes reports whether the payload of f is coded.
func (m *mailroom) codes(f gossip.Frame) bool {
	return m.busy() && f.MessageBytes() > 0
}

// busy reports whether payloads are coded at all.
func (m *mailroom) busy() bool { return m.Entropy != entropy.Plain || m.start != nil && m.Span != nil }

// fetch reads a payload on disk that is to be coded: only the driver knows its layout. So a message that is sent again
// travels like the first time. Where the disk fails, the link's writer reads again, and says why it cannot.
func (m *mailroom) fetch(f gossip.Frame) gossip.Frame {
	if !m.busy() || f.Kind != gossip.Data {
		return f
	}
	if payload, err := f.Stored.Read(nil); err == nil {
		f.Payload, f.Stored = payload, nil
	}
	return f
}

// mailing wraps a frame for these links, at a cost per byte; nil if links have nothing to share or to code.
func (m *mailroom) mailing(f gossip.Frame, links int, cost entropy.LinkCost) *mailing {
	if links == 0 || links == 1 && !m.codes(f) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var p *mailing
	if last := len(m.free) - 1; last >= 0 {
		p, m.free = m.free[last], m.free[:last]
		m.held -= cap(p.coded)
	} else {
		p = &mailing{room: m}
	}
	p.frame, p.cost, p.left, p.of = f, cost, links, wire.Header{}
	p.made, p.coder = !m.codes(f), entropy.Plain
	if p.made {
		return p
	}
	p.parts, p.still = quant.Bytes(len(f.Payload)), still.Span{}
	if m.Layout != nil {
		p.parts = m.Layout(f)
	}
	if m.Span != nil {
		p.still = m.Span(f)
	}
	return p
}

// open puts the header h, to which it adds the coder, into dst and returns the payload to send.
func (p *mailing) open(dst []byte, h *wire.Header) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.made {
		p.made = true
		p.code()
	}
	payload := p.frame.Payload
	if h.Coder = p.coder; h.Coder != entropy.Plain {
		payload = p.coded
	}
	if p.of != *h {
		if err := wire.PutHeader(p.head[:], *h, payload); err != nil {
			return nil, err
		}
		p.of = *h
	}
	copy(dst, p.head[:])
	return payload, nil
}

// code fills coded. Where at least half of a message has not changed since the start, that is left out, and the rest
// travels as it is. It sends a message that cannot be coded without coding: that is slower, but no reason to end a run.
func (p *mailing) code() {
	m, f := p.room, p.frame
	coded, shorter := m.start.Encode(p.coded[:0], f.Payload, p.still)
	if p.coded = coded; shorter && (m.encoder == nil || len(coded) <= len(f.Payload)/2) {
		p.coder = still.Coder
		return
	}
	if m.encoder == nil {
		return
	}
	m.encoding.Lock()
	defer m.encoding.Unlock()
	var err error
	p.coded, p.coder, err = m.encoder.Encode(p.coded[:0], f.Payload, p.parts, p.cost)
	if err != nil {
		p.coder = entropy.Plain
		m.refused.Count("not coded")
		why := fmt.Errorf("round %d hop %d piece %d: %w", f.Round, f.Hop, f.Piece, err)
		m.log.Warn("a message is sent without entropy coding", "why", why)
	}
}

// close notes that one link has sent p.
func (p *mailing) close() {
	p.mu.Lock()
	p.left--
	last := p.left == 0
	p.mu.Unlock()
	if !last {
		return
	}
	p.frame = gossip.Frame{} // releases the payload
	m := p.room
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held > 0 && m.held+cap(p.coded) > codedRoom {
		p.coded = nil
	}
	m.held += cap(p.coded)
	m.free = append(m.free, p)
}
