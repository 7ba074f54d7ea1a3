package link

import (
	"fmt"
	"log/slog"
	"sync"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/node/socket"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/quant"
)

// A coding is the entropy stage of all links of a worker. The links' writers do its work, not the
// driver.
type coding struct {
	coder   entropy.Coder
	layout  func(f gossip.Frame) quant.Layout
	refused *socket.Refusals
	log     *slog.Logger

	encoding sync.Mutex // guards encoder
	encoder  *entropy.Encoder

	mu   sync.Mutex // guards free
	free []*mailing
}

// newCoding returns the stage that c asks for, nil if payloads are sent without coding.
func newCoding(c *Config) (*coding, error) {
	if c.Coder == entropy.Plain {
		return nil, nil
	}
	costs := entropy.Typical()
	if c.Coder == entropy.Auto {
		var err error
		if costs, err = measureCosts(); err != nil {
			return nil, err
		}
	}
	encoder, err := entropy.NewEncoder(c.Coder, costs)
	if err != nil {
		return nil, err
	}
	return &coding{coder: c.Coder, layout: c.Layout, refused: c.Refused, log: c.Log, encoder: encoder}, nil
}

// A mailing is one message to several neighbours. The first link to reach it codes it; the last one to
// have sent it returns its buffer. A mailing in a link that is lost is lost as well.
type mailing struct {
	stage *coding
	frame gossip.Frame
	cost  entropy.LinkCost

	layout quant.Layout

	mu    sync.Mutex
	made  bool
	coder entropy.Coder // the coder of coded; Plain: the payload is sent without coding
	coded []byte
	left  int // links that have not sent it
}

// mailing wraps a message for so many links, at a cost per byte; nil if it has no payload to code.
func (c *coding) mailing(f gossip.Frame, links int, cost entropy.LinkCost) *mailing {
	if c == nil || f.Kind != gossip.Data || len(f.Payload) == 0 || links == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var p *mailing
	if last := len(c.free) - 1; last >= 0 {
		p, c.free = c.free[last], c.free[:last]
	} else {
		p = &mailing{stage: c}
	}
	p.frame, p.cost, p.left, p.made = f, cost, links, false
	p.layout = quant.Bytes(len(f.Payload))
	if c.layout != nil {
		p.layout = c.layout(f)
	}
	return p
}

// open returns the bytes to send and their coder.
func (p *mailing) open() ([]byte, entropy.Coder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.made {
		p.made = true
		p.code()
	}
	if p.coder == entropy.Plain {
		return p.frame.Payload, entropy.Plain
	}
	return p.coded, p.coder
}

// code fills coded. It sends a message that cannot be coded without coding: that is slower, but no
// reason to end a run.
func (p *mailing) code() {
	p.stage.encoding.Lock()
	defer p.stage.encoding.Unlock()
	var err error
	p.coded, p.coder, err = p.stage.encoder.Encode(p.coded[:0], p.frame.Payload, p.layout, p.cost)
	if err != nil {
		p.coder = entropy.Plain
		p.stage.refused.Count("not coded")
		why := fmt.Errorf("round %d hop %d: %w", p.frame.Round, p.frame.Hop, err)
		p.stage.log.Warn("a message is sent without entropy coding", "why", why)
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
	p.stage.mu.Lock()
	defer p.stage.mu.Unlock()
	p.stage.free = append(p.stage.free, p)
}
