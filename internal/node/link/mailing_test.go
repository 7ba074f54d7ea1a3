package link

import (
	"log/slog"
	"testing"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/node/socket"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/quant"
)

func TestOneMessageIsCodedOnce(t *testing.T) {
	c, err := newCoding(&Config{Coder: entropy.Huff0})
	if err != nil {
		t.Fatal(err)
	}
	frame := gossip.Frame{Payload: make([]byte, 100_000), Round: 3}
	frame.Payload[7] = 1
	send := func() (first, second []byte) {
		p := c.mailing(frame, 2, 0)
		first, by := p.open()
		second, _ = p.open()
		if by != entropy.Huff0 || len(first) >= len(frame.Payload) {
			t.Fatalf("%v: %d bytes of %d", by, len(first), len(frame.Payload))
		}
		p.close()
		p.close()
		return first, second
	}
	if first, second := send(); &first[0] != &second[0] {
		t.Error("two links send a message that was coded twice")
	}
	if got := testing.AllocsPerRun(20, func() { send() }); got != 0 || len(c.free) != 1 {
		t.Errorf("%v allocations per message, %d kept", got, len(c.free))
	}
	for name, none := range map[string]*mailing{
		"a repair":     c.mailing(gossip.Frame{Kind: gossip.Repair, Payload: frame.Payload}, 1, 0),
		"no payload":   c.mailing(gossip.Frame{}, 1, 0),
		"no coding":    (*coding)(nil).mailing(frame, 1, 0),
		"no neighbour": c.mailing(frame, 0, 0),
	} {
		if none != nil {
			t.Errorf("%s is coded", name)
		}
	}
}

func TestAMessageOfAnotherLayoutIsSentAsItIs(t *testing.T) {
	var refused socket.Refusals
	c, err := newCoding(&Config{
		Coder: entropy.Huff0, Layout: func(gossip.Frame) quant.Layout { return quant.Floats(1) },
		Refused: &refused, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	payload, by := c.mailing(gossip.Frame{Payload: make([]byte, 99)}, 1, 0).open()
	if by != entropy.Plain || len(payload) != 99 || refused.Read()["not coded"] != 1 {
		t.Errorf("%v: %d bytes, counted %v", by, len(payload), refused.Read())
	}
}

func TestPaceIsTheBestOfTheLastLongFrames(t *testing.T) {
	var p pace
	p.note(paceBytes-1, time.Nanosecond)
	if got := p.best(); got != 0 {
		t.Errorf("a short frame tells of %v bytes a second", got)
	}
	p.note(1e6, time.Second)
	p.note(4e6, time.Second)
	for range paceFrames - 1 {
		p.note(2e6, time.Second)
	}
	if got := p.best(); got != 4e6 {
		t.Errorf("%v bytes a second, want those of the fastest frame", got)
	}
	p.note(2e6, time.Second)
	if got := p.best(); got != 2e6 {
		t.Errorf("%v bytes a second: an old frame counts", got)
	}
}

func TestTheLinkCostIsThatOfTheSlowerDirection(t *testing.T) {
	var sent, received pace
	sent.note(1e6, time.Second)
	if got := linkCost(0, &sent, &received); got != 0 {
		t.Errorf("cost %v with one direction known", got)
	}
	received.note(5e5, time.Second)
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
