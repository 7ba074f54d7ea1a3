package link

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/vec"
	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/wire/still"
	"gossiptrainer/internal/work"
	"gossiptrainer/node/socket"
	"gossiptrainer/quant"
)

// opened returns the header and the payload with which a link sends p.
func opened(t *testing.T, p *mailing, h wire.Header) (head, payload []byte) {
	t.Helper()
	head = make([]byte, wire.HeaderLen)
	payload, err := p.open(head, &h)
	if err != nil {
		t.Fatal(err)
	}
	return head, payload
}

func TestOneMessageIsCodedOnce(t *testing.T) {
	m, err := newMailroom(&Config{Coding: work.Coding{Entropy: entropy.Huff0}})
	if err != nil {
		t.Fatal(err)
	}
	frame := gossip.Frame{Payload: make([]byte, 100_000), Round: 3}
	frame.Payload[7] = 1
	h, head := wire.Header{Kind: wire.Data, Round: 3}, make([]byte, wire.HeaderLen)
	send := func() (first, second []byte) {
		p := m.mailing(frame, 2, 0)
		first, err = p.open(head, &h)
		second, _ = p.open(head, &h)
		if err != nil || head[5] != byte(wire.Data)|byte(entropy.Huff0)<<4 || len(first) >= len(frame.Payload) {
			t.Fatalf("%v: header %x, %d bytes of %d", err, head, len(first), len(frame.Payload))
		}
		p.close()
		p.close()
		return first, second
	}
	if first, second := send(); &first[0] != &second[0] {
		t.Error("two links send a message that was coded twice")
	}
	if got := testing.AllocsPerRun(20, func() { send() }); got != 0 || len(m.free) != 1 {
		t.Errorf("%v allocations per message, %d kept", got, len(m.free))
	}
}

func TestAMessageLeavesOutWhatHasNotChanged(t *testing.T) {
	const count = 5000
	start := make([]float32, count)
	for i := range start {
		start[i] = float32(i)
	}
	plain := vec.AppendLE([]byte("head"), start)
	span := func(gossip.Frame) work.Span { return work.Span{At: 4, Count: count} }
	for _, test := range []struct {
		name   string
		coding work.Coding
		frame  gossip.Frame
		want   entropy.Coder
	}{
		{"no entropy coder", work.Coding{Still: start, Span: span}, gossip.Frame{Payload: plain}, still.Coder},
		{"an entropy coder", work.Coding{Still: start, Span: span, Entropy: entropy.Huff0},
			gossip.Frame{Payload: plain}, still.Coder},
		{"less than half", work.Coding{Still: start[:count/4], Span: span, Entropy: entropy.Huff0},
			gossip.Frame{Payload: plain}, entropy.Huff0},
		{"less than half, no entropy coder", work.Coding{Still: start[:count/4], Span: span},
			gossip.Frame{Payload: plain}, still.Coder},
		{"another start", work.Coding{Still: start[1:], Span: span}, gossip.Frame{Payload: plain}, entropy.Plain},
		{"no start", work.Coding{Span: span}, gossip.Frame{Payload: plain}, entropy.Plain},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := newMailroom(&Config{Coding: test.coding})
			if err != nil {
				t.Fatal(err)
			}
			h := wire.Header{Kind: wire.Data}
			sent, err := outgoing{frame: test.frame, mailing: m.mailing(test.frame, 1, 0)}.open(
				make([]byte, wire.HeaderLen), &h)
			if err != nil || h.Coder != test.want {
				t.Fatalf("coder %v (%v), want %v", h.Coder, err, test.want)
			}
			reader := &link{to: &neighbour{shared: &shared{mail: m}}}
			reader.to.pool.most.Store(int64(len(plain)))
			if h.Coder == entropy.Plain {
				return
			}
			if got, err := reader.decode(h.Coder, sent); err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%v, or another payload", err)
			}
		})
	}
}

func TestOnlyFramesThatLinksShareOrCodeAreMailings(t *testing.T) {
	coding, err := newMailroom(&Config{Coding: work.Coding{Entropy: entropy.Huff0}})
	if err != nil {
		t.Fatal(err)
	}
	message := gossip.Frame{Payload: []byte("parameters")}
	for _, test := range []struct {
		name  string
		room  *mailroom
		frame gossip.Frame
		links int
		want  bool
	}{
		{"a message to code", coding, message, 1, true},
		{"a message to two", new(mailroom), message, 2, true},
		{"a message to one", new(mailroom), message, 1, false},
		{"a repair", coding, gossip.Frame{Kind: gossip.Repair, Payload: message.Payload}, 1, false},
		{"no payload", coding, gossip.Frame{}, 1, false},
		{"no neighbour", coding, message, 0, false},
	} {
		if p := test.room.mailing(test.frame, test.links, 0); (p != nil) != test.want {
			t.Errorf("%s: mailing %v, want one: %v", test.name, p, test.want)
		}
	}
}

// Neighbours share a header, and so a checksum, if they get the same frame.
func TestNeighboursShareAHeader(t *testing.T) {
	m := new(mailroom)
	h, payload := wire.Header{Kind: wire.Data, Round: 3, Epoch: 7}, []byte("parameters")
	want := make([]byte, wire.HeaderLen)
	if err := wire.PutHeader(want, h, payload); err != nil {
		t.Fatal(err)
	}
	p := m.mailing(gossip.Frame{Round: 3, Payload: payload}, 2, 0)
	if got, _ := opened(t, p, h); !bytes.Equal(got, want) {
		t.Errorf("the first has %x, want %x", got, want)
	}
	payload[0]++ // changes every checksum computed from here on
	if got, _ := opened(t, p, h); !bytes.Equal(got, want) {
		t.Error("the second neighbour's checksum was taken again")
	}
	for name, change := range map[string]func(h *wire.Header){
		"another piece": func(h *wire.Header) { h.Piece = 1 }, "another note": func(h *wire.Header) { h.Note = 5 },
	} {
		other := h
		change(&other)
		if got, _ := opened(t, p, other); bytes.Equal(got, want) {
			t.Errorf("%s has the header of the first", name)
		}
	}
	bad := wire.Header{Kind: wire.Data, Round: -1}
	for range 2 {
		if _, err := p.open(want, &bad); !errors.Is(err, wire.ErrRange) {
			t.Errorf("%v, want %v", err, wire.ErrRange)
		}
	}
}

func TestFreeMailingsAreBounded(t *testing.T) {
	m := new(mailroom)
	var all []*mailing
	for range 5 {
		p := m.mailing(gossip.Frame{Payload: []byte("x")}, 2, 0)
		p.coded = make([]byte, codedRoom/2)
		all = append(all, p)
	}
	for _, p := range all {
		p.close()
		p.close()
	}
	if len(m.free) != len(all) || m.held != codedRoom {
		t.Errorf("%d kept with %d bytes, want all with %d", len(m.free), m.held, codedRoom)
	}
	for range all {
		m.mailing(gossip.Frame{Payload: []byte("x")}, 2, 0)
	}
	if m.held != 0 || len(m.free) != 0 {
		t.Errorf("%d with %d bytes are left, want none", len(m.free), m.held)
	}
}

func TestAMessageOfAnotherLayoutIsSentAsItIs(t *testing.T) {
	var refused socket.Refusals
	m, err := newMailroom(&Config{
		Coding:  work.Coding{Entropy: entropy.Huff0, Layout: func(gossip.Frame) quant.Layout { return quant.Floats(1) }},
		Refused: &refused, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	p := m.mailing(gossip.Frame{Payload: make([]byte, 99)}, 1, 0)
	head, payload := opened(t, p, wire.Header{Kind: wire.Data})
	if head[5] != byte(wire.Data) || len(payload) != 99 || refused.Read()["not coded"] != 1 {
		t.Errorf("header %x: %d bytes, counted %v", head, len(payload), refused.Read())
	}
}

// tells enters a message of two pieces.
func (p *pace) tells(bytes int, took time.Duration) {
	p.begin()
	p.add(bytes/2, took)
	p.add(bytes-bytes/2, 0) // from a buffer
	p.begin()
}

func TestPaceIsTheBestOfTheLastLongMessages(t *testing.T) {
	var p pace
	p.tells(paceBytes-1, time.Nanosecond)
	if got := p.best(); got != 0 {
		t.Errorf("a short message tells of %v bytes a second", got)
	}
	p.tells(1e6, time.Second)
	p.tells(4e6, time.Second)
	for range paceMessages - 1 {
		p.tells(2e6, time.Second)
	}
	if got := p.best(); got != 4e6 {
		t.Errorf("%v bytes a second, want those of the fastest message", got)
	}
	p.tells(2e6, time.Second)
	if got := p.best(); got != 2e6 {
		t.Errorf("%v bytes a second: an old message counts", got)
	}
}

func TestTheLinkCostIsThatOfTheSlowerDirection(t *testing.T) {
	var sent, received pace
	sent.tells(1e6, time.Second)
	if got := linkCost(0, &sent, &received); got != 0 {
		t.Errorf("cost %v with one direction known", got)
	}
	received.tells(5e5, time.Second)
	if got := linkCost(0, &sent, &received); got != 2e-6 {
		t.Errorf("cost %v, want that of 500 kB a second", got)
	}
	if got := linkCost(8e6, &sent, &received); got != 1e-6 {
		t.Errorf("cost %v, want that of the limit, a megabyte a second", got)
	}
}

func TestCostsAreMeasured(t *testing.T) {
	costs, err := measureCosts()
	if err != nil || costs.Huff0 <= 0 || costs.FSE <= 0 {
		t.Errorf("%+v, %v", costs, err)
	}
}

// A message from the journal is coded like one from memory, so that bytes do not depend on when a neighbour was met.
func TestStoredPayloadsAreCoded(t *testing.T) {
	m, err := newMailroom(&Config{Coding: work.Coding{Entropy: entropy.Huff0}})
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.Repeat([]byte("aab"), 1000)
	f := m.fetch(gossip.Frame{Kind: gossip.Data, Stored: &shelf{text: text}})
	if f.Stored != nil || !bytes.Equal(f.Payload, text) {
		t.Fatalf("%d bytes were read, want %d", len(f.Payload), len(text))
	}
	p := m.mailing(f, 1, 0)
	sent, err := p.open(make([]byte, wire.HeaderLen), &wire.Header{Kind: wire.Data})
	if err != nil || len(sent) >= len(text)/2 {
		t.Errorf("%d bytes were sent, error %v, want fewer than half of %d", len(sent), err, len(text))
	}
	broken := &shelf{err: errors.New("gone")}
	if f := m.fetch(gossip.Frame{Kind: gossip.Data, Stored: broken}); f.Stored != broken {
		t.Error("the writer cannot report why a payload cannot be read")
	}
}
