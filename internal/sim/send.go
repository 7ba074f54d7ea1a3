package sim

import (
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// send sends one message of a worker to its receivers. They get the payload without entropy coding:
// the tests of package entropy show that decoding returns it.
func (t *thread) send(p *peer, frames []gossip.Frame) error {
	size, err := t.size(p, frames)
	if err != nil {
		return err
	}
	stream := StreamBytes(size)
	for i := range frames {
		f := &frames[i]
		bytes := WireBytes(stream, p.uplink.Link(f.To))
		sent := record.Bytes{Payload: int64(f.MessageBytes()), Stream: int64(stream), Wire: int64(bytes)}
		p.sent.Add(sent)
		if p.account != nil {
			p.account.Link(f.To).Sent.Add(sent)
		}
		if sent.Payload > 0 {
			if f.Piece == 0 {
				p.messages.Count++
			}
			p.messages.Stream += int64(stream)
		}
		own := t.flight()
		own.Frame, own.stream, own.wire = *f, stream, bytes
		if s := t.sim.script; s != nil {
			own.Frame, own.link = s.ship(own.Frame)
		}
		if t.sim.cores != nil {
			p.coding.next.frames = append(p.coding.next.frames, own)
		} else {
			t.leave(p, own)
		}
	}
	return nil
}

// leave puts a frame on its way.
func (t *thread) leave(p *peer, f *flight) {
	if s := t.sim; s.steady() {
		t.schedule(s.now+s.opt.Network.Uplink.Latency+s.late(p, f.To), event{worker: f.To, frame: f})
	} else {
		m := shape.Message[*flight]{Bytes: f.weight(), Order: p.departs(f), What: f}
		t.attend(p, p.uplink.Send(f.To, s.now, m))
	}
}

// departs returns the order in which a frame leaves. On graphs that change, the messages of a worker leave round by
// round, as package link sends them.
func (p *peer) departs(f *flight) int {
	if p.Rows.Period() == 1 || f.Kind != gossip.Data {
		return 0
	}
	return 1 + f.Round
}

// steady reports whether no frame waits for another one. Faults may limit a worker's uplink, or drop what waits there.
func (s *simulation) steady() bool { return s.script == nil && s.opt.Network.Steady() }

// attend schedules the arrivals of frames that have left a server, and the departure of the next
// frame.
func (t *thread) attend(p *peer, server *server) {
	for _, d := range server.Leave(t.sim.now) {
		t.schedule(d.Arrives+t.sim.late(p, d.What.To), event{worker: d.What.To, frame: d.What})
	}
	if next, ok := server.Next(); ok {
		t.schedule(next, event{worker: p.Rank, server: server, turn: server.Turn})
	}
}

// late returns how long after the arrival of a frame its receiver wakes up.
func (s *simulation) late(p *peer, to topology.Rank) time.Duration {
	if s.opt.Costs.Late == 0 || !p.uplink.Link(to).Limited() {
		return 0
	}
	return s.opt.Costs.Late
}

// size returns the bytes of a payload on its way, which are fewer with an entropy coder.
func (t *thread) size(p *peer, frames []gossip.Frame) (int, error) {
	f := frames[0]
	if p.Coding.Entropy == entropy.Plain || f.Kind != gossip.Data {
		return len(f.Payload), nil
	}
	cost := entropy.LinkCost(0)
	for _, f := range frames {
		cost += entropy.LinkCostOf(p.uplink.Link(f.To).Rate)
	}
	layout := quant.Bytes(len(f.Payload))
	if p.Coding.Layout != nil {
		layout = p.Coding.Layout(f)
	}
	var by entropy.Coder
	var err error
	if t.coded, by, err = t.encoders[p.Coding.Entropy].Encode(t.coded[:0], f.Payload, layout, cost); err != nil ||
		by == entropy.Plain {
		return len(f.Payload), err
	}
	return len(t.coded), nil
}
