package sim

import (
	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/quant"
)

// send sends one message of a worker to its receivers. They get the payload without entropy coding:
// the tests of package entropy show that decoding returns it.
func (s *simulation) send(p *peer, frames []gossip.Frame) error {
	size, err := s.size(p, frames)
	if err != nil {
		return err
	}
	stream := StreamBytes(size)
	for _, f := range frames {
		bytes := WireBytes(stream, p.uplink.Link(f.To))
		p.sent.Payload += payloadBytes(&f)
		p.sent.Stream += int64(stream)
		p.sent.Wire += int64(bytes)
		if f.Kind == gossip.Data && len(f.Payload) > 0 {
			if f.Piece == 0 {
				p.messages.Count++
			}
			p.messages.Stream += int64(stream)
		}
		server := p.uplink.Send(f.To, s.now, bytes, event{worker: f.To, frame: s.frame(f), stream: stream, wire: bytes})
		s.attend(p, server)
	}
	return nil
}

// attend schedules the arrivals of frames that have left a server, and the departure of the next
// frame.
func (s *simulation) attend(p *peer, server *server) {
	for _, d := range server.Leave(s.now) {
		s.schedule(d.Arrives, d.What)
	}
	if next, ok := server.Next(); ok {
		s.schedule(next, event{worker: p.Rank, server: server, turn: server.Turn})
	}
}

// size returns the bytes of a payload on its way, which are fewer with an entropy coder.
func (s *simulation) size(p *peer, frames []gossip.Frame) (int, error) {
	f := frames[0]
	if p.Entropy == entropy.Plain || f.Kind != gossip.Data {
		return len(f.Payload), nil
	}
	cost := entropy.LinkCost(0)
	for _, f := range frames {
		cost += entropy.LinkCostOf(p.uplink.Link(f.To).Rate)
	}
	layout := quant.Bytes(len(f.Payload))
	if p.Layout != nil {
		layout = p.Layout(f)
	}
	var by entropy.Coder
	var err error
	if s.coded, by, err = s.encoders[p.Entropy].Encode(s.coded[:0], f.Payload, layout, cost); err != nil ||
		by == entropy.Plain {
		return len(f.Payload), err
	}
	return len(s.coded), nil
}

// frame returns f in memory of its own.
func (s *simulation) frame(f gossip.Frame) *flight {
	number := 0
	if s.script != nil {
		f, number = s.script.ship(f)
	}
	last := len(s.frames) - 1
	if last < 0 {
		return &flight{f, number}
	}
	own := s.frames[last]
	s.frames = s.frames[:last]
	*own = flight{f, number}
	return own
}
