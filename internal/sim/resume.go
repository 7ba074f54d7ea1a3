package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/shape"
	"gossiptrainer/topology"
)

// save returns the state of the run at this moment, but for its workers, which it puts into the draft. It is valid
// until the run goes on.
func (s *simulation) save(at Boundary, rest *lockstep) (*state.Snapshot, error) {
	kept := &store{at: map[*byte]int{}}
	run := savedRun{Boundary: at, Now: s.now, Seq: s.seq, Events: s.events, Rest: rest != nil}
	if f := s.keeper.faults; f != nil {
		run.Faults = f.save()
	}
	own, text := new(state.Snapshot), new(bytes.Buffer)
	for i := range s.peers {
		clear(own.Tensors) // they may have the memory of a checkpoint
		if own.Begin(); run.Faults != nil {
			f := run.Faults
			f.Processes = append(f.Processes, s.peers[i].saveProcess(own))
		}
		if err := saveWorker(&s.peers[i], kept, rest, s.keeper.crossed[i].clock, text); err != nil {
			return nil, err
		}
		if p := &s.peers[i]; p.Counts != nil {
			own.Save(countsPart, p.Counts)
		}
		own.Tensors = append(own.Tensors, state.Tensor{Name: runTensor, Type: "U8", Data: text.Bytes()})
		s.keeper.draft.Put(i, own)
	}
	if s.cores != nil {
		run.Cores = saveCores(s.cores)
	}
	for _, e := range s.queue.sorted() {
		run.Queue = append(run.Queue, s.saveEvent(kept, e))
	}
	for _, in := range s.keeper.past {
		saved := savedInput{Worker: in.worker, At: in.at, Call: in.call.Kind, Peer: in.call.Peer, Up: in.call.Up}
		if in.call.Kind == gossip.ReceiveCall {
			saved.Frame = kept.frame(&in.call.Frame)
		}
		run.Past = append(run.Past, saved)
	}
	whole, err := json.Marshal(run)
	return &state.Snapshot{Tensors: []state.Tensor{
		{Name: payloadsTensor, Type: "U8", Data: kept.data}, {Name: runTensor, Type: "U8", Data: whole},
	}}, err
}

// saveWorker writes to text what the simulation knows of a worker, whose machine began at a time of the clock.
func saveWorker(p *peer, kept *store, rest *lockstep, clock time.Duration, text *bytes.Buffer) error {
	saved := savedWorker{
		Round: p.round, Ready: p.ready, Since: clock, Sent: p.sent, Received: p.got, Messages: p.messages,
		Account: p.account,
	}
	if rest != nil {
		saved.Begun = rest.at.begun[p.Rank]
	} else {
		uplink := shape.Save(p.uplink, kept.flight)
		saved.Uplink = &uplink
	}
	if p.coding != nil {
		saved.Coding = saveCoding(kept, p.coding)
	}
	text.Reset()
	return json.NewEncoder(text).Encode(saved)
}

// saveEvent returns the saved form of an event.
func (s *simulation) saveEvent(kept *store, e event) savedEvent {
	saved := savedEvent{At: e.at, Seq: e.seq, Worker: e.worker, Turn: e.turn}
	if e.frame != nil {
		frame := kept.flight(e.frame)
		saved.Frame = &frame
	}
	if e.server != nil {
		number := s.peers[e.worker].uplink.Number(e.server)
		saved.Server = &number
	}
	return saved
}

// resume brings the run to a saved state. The machines are at the beginning of its round.
func (s *simulation) resume(from *Saved) error {
	if len(from.run.workers) != len(s.peers) {
		return fmt.Errorf("sim: the state of %d workers, want %d", len(from.run.workers), len(s.peers))
	}
	s.now, s.seq, s.events = from.run.Now, from.run.Seq, from.run.Events
	for i, w := range from.run.workers {
		p := &s.peers[i]
		p.round, p.ready, p.origin, p.sent, p.got = w.Round, w.Ready, w.Since, w.Sent, w.Received
		p.messages = w.Messages
		if p.account != nil && w.Account != nil {
			p.account = w.Account
		}
		if w.Uplink == nil {
			continue
		}
		if err := shape.Restore(p.uplink, *w.Uplink, from.flight); err != nil {
			return err
		}
	}
	for _, saved := range from.run.Queue {
		e, err := s.readEvent(from, saved)
		if err != nil {
			return err
		}
		s.queue.push(e)
	}
	return s.resumeWork(from)
}

// readEvent returns a saved event.
func (s *simulation) readEvent(from *Saved, saved savedEvent) (event, error) {
	e := event{at: saved.At, seq: saved.Seq, worker: saved.Worker, turn: saved.Turn}
	if err := s.known(saved.Worker); err != nil {
		return e, err
	}
	if saved.Server != nil {
		if e.server = s.peers[e.worker].uplink.Numbered(*saved.Server); e.server == nil {
			return e, fmt.Errorf("sim: worker %d has no server %d", e.worker, *saved.Server)
		}
	}
	if saved.Frame == nil {
		return e, nil
	}
	var err error
	e.frame, err = from.flight(*saved.Frame)
	return e, err
}

// known refuses a worker that the run does not have.
func (s *simulation) known(rank topology.Rank) error {
	if rank < 0 || int(rank) >= len(s.peers) {
		return fmt.Errorf("sim: the state names worker %d, of %d", rank, len(s.peers))
	}
	return nil
}

// repeat gives the machines the calls that they had after the boundary. Their frames are on the way already, and layers
// are as they were afterwards.
func (s *simulation) repeat(from *Saved) error {
	for i := range s.peers {
		if s.script == nil {
			s.ask(&s.peers[i])
		}
	}
	for _, in := range from.run.Past {
		if err := s.known(in.Worker); err != nil {
			return err
		}
		p, call := &s.peers[in.Worker], gossip.Call{Kind: in.Call, Peer: in.Peer, Up: in.Up}
		var err error
		switch {
		case in.Call == gossip.GradientCall:
			s.threads[0].pool.wait(&p.order)
			err = p.order.err
		case in.Frame != nil:
			call.Frame, err = from.frame(in.Frame)
		}
		var r gossip.Ready
		if err == nil {
			r, err = call.Repeat(p.Machine, p.order.g, p.order.loss, in.At-p.origin)
		}
		if err != nil && !(s.script != nil && judged(err)) {
			return &TrainingError{Rank: p.Rank, Round: p.round, Err: err}
		}
		if in.Call == gossip.ReadyCall {
			s.threads[0].compute(p, &r)
		} else if s.script == nil {
			s.ask(p)
		}
	}
	return s.readCounts(from)
}

// countsPart is the name of the counts that a repetition changes.
const countsPart = "counts"

// readCounts takes over the counts of all workers.
func (s *simulation) readCounts(from *Saved) error {
	for i := range s.peers {
		p := &s.peers[i]
		if p.Counts == nil {
			continue
		}
		own, err := from.Worker(i)
		if err == nil {
			err = own.Load(countsPart, p.Counts)
		}
		if err != nil {
			return fmt.Errorf("sim: worker %d: %w", i, err)
		}
	}
	return nil
}

// judged reports whether a layer has judged an error of its machine: then the worker has gone on.
func judged(err error) bool {
	_, bad := errors.AsType[*algos.MessageError](err)
	return bad || gossip.Refusal(err)
}

// ask carries out the requests of a machine apart from its frames.
func (s *simulation) ask(p *peer) {
	for more := true; more; {
		r := p.core.Ready()
		s.threads[0].compute(p, &r)
		more = r.More
	}
}
