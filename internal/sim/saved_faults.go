package sim

import (
	"fmt"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/fault"
)

// The state of a run with faults also has the script, the links and the processes. It is taken when no process or link
// is about to change: a run that waits for one computes nothing, so it comes to rest soon.

// rests reports whether the run is at rest: all processes run and have seen all events, and nothing is planned but the
// script and pulses.
func (s *faultSim) rests() bool {
	for i := range s.peers {
		p := &s.peers[i]
		if p.status != running || p.fresh || len(p.held)+len(p.lost) > 0 || !p.layer.Rests() {
			return false
		}
	}
	for _, it := range s.agenda {
		if it.kind == passing {
			return false
		}
	}
	return true
}

// behind reports whether a worker has no process, or repeats rounds. It reports their scores no second time, so a state
// in these rounds would not say which scores there are.
func (s *faultSim) behind() bool {
	for i := range s.peers {
		if p := &s.peers[i]; p.status == dead || p.number > 1 && p.reached <= p.atDeath {
			return true
		}
	}
	return false
}

// Names of the parts of a worker's state under a script.
const (
	layersPart = "layers"
	logPart    = "log"
)

// keptPart begins the names of the tensors of a worker's checkpoint.
func keptPart(i int) string { return fmt.Sprintf("kept%d/", i) }

// save returns the faults of a run at rest, without its processes.
func (s *faultSim) save() *savedFaults {
	saved := &savedFaults{Play: s.play.Save(), Planned: s.planned, Begun: s.begun}
	for _, it := range s.agenda {
		saved.Agenda = append(saved.Agenda, savedItem{it.at, it.seq, it.kind, it.worker, it.turn})
	}
	saved.Effects, saved.Open = s.effects.save()
	for _, l := range s.links.ordered {
		saved.Links = append(saved.Links, savedLink{l.ends, l.up, l.number,
			[2][2]int{{l.met[0].own, l.met[0].other}, {l.met[1].own, l.met[1].other}}, l.wanted, l.refused})
	}
	return saved
}

// saveProcess returns the process of a worker. It adds the states of its layers, log and checkpoints to own.
func (p *peer) saveProcess(own *state.Snapshot) savedProcess {
	saved := savedProcess{
		Number: p.number, Place: p.intro.Place, Durable: p.intro.Durable, Reached: p.reached, Begun: p.begun,
		AtDeath: p.atDeath, Hangs: p.count, Delay: p.delay, Taken: p.taken, Unkept: p.unkept,
	}
	own.Save(layersPart, p.layer)
	if p.log != nil {
		own.Save(logPart, p.log)
	}
	for i, c := range p.kept {
		saved.Kept = append(saved.Kept, c.round)
		for _, t := range c.state.Tensors {
			t.Name = keptPart(i) + t.Name
			own.Tensors = append(own.Tensors, t)
		}
	}
	return saved
}

// goOn brings the run to a saved state.
func (s *faultSim) goOn(from *Saved) error {
	saved := from.run.Faults
	if saved == nil || len(saved.Processes) != len(s.peers) {
		return fmt.Errorf("sim: the state is of a run without these faults")
	}
	var err error
	if s.play, err = fault.Restore(s.Script, saved.Play); err != nil {
		return err
	}
	if s.effects, err = readEffects(s.Script, saved); err != nil {
		return err
	}
	for _, l := range saved.Links {
		if err := s.readLink(l); err != nil {
			return err
		}
	}
	if err := s.resume(from); err != nil {
		return err
	}
	for i := range s.peers {
		own, err := from.Worker(i)
		if err == nil {
			err = s.readProcess(&s.peers[i], saved.Processes[i], own)
		}
		if err != nil {
			return fmt.Errorf("sim: worker %d: %w", i, err)
		}
	}
	if err := s.repeat(from); err != nil {
		return err
	}
	for i := range s.peers {
		s.attach(&s.peers[i], s.peers[i].layer)
	}
	s.planned, s.begun = saved.Planned, saved.Begun
	return s.readAgenda(saved.Agenda)
}

// readLink takes over a link.
func (s *faultSim) readLink(saved savedLink) error {
	for _, rank := range saved.Ends {
		if err := s.known(rank); err != nil {
			return err
		}
	}
	l := s.links.between(saved.Ends[0], saved.Ends[1])
	l.up, l.number, l.wanted, l.refused = saved.Up, saved.Number, saved.Wanted, saved.Refused
	for i, m := range saved.Met {
		l.met[i] = met{m[0], m[1]}
	}
	return nil
}

// readProcess takes over the process of a worker, whose machine is at the boundary.
func (s *faultSim) readProcess(p *peer, saved savedProcess, own *state.Snapshot) error {
	p.number, p.reached, p.begun, p.atDeath = saved.Number, saved.Reached, saved.Begun, saved.AtDeath
	p.count, p.delay, p.taken, p.unkept = saved.Hangs, saved.Delay, saved.Taken, saved.Unkept
	p.intro = gossip.Control{Kind: gossip.Introduce, Place: saved.Place, Durable: saved.Durable}
	for i, round := range saved.Kept {
		kept, err := own.Below(keptPart(i))
		if err != nil {
			return err
		}
		p.kept = append(p.kept, checkpoint{round, kept})
	}
	var err error
	if p.layer, _, _, err = s.layers(p, p.begun, nil); err != nil {
		return err
	}
	p.core, p.status = p.layer, running
	if p.log != nil {
		if err := own.Load(logPart, p.log); err != nil {
			return err
		}
	}
	return own.Load(layersPart, p.layer)
}

// readAgenda takes over the items of a run at rest.
func (s *faultSim) readAgenda(items []savedItem) error {
	for _, saved := range items {
		if err := s.known(saved.Worker); err != nil {
			return err
		}
		it := item{event{at: saved.At, seq: saved.Seq, worker: saved.Worker, turn: saved.Turn}, saved.Kind, s.readNow}
		if saved.Kind == pulse {
			it.do = s.pulse(&s.peers[saved.Worker], saved.Turn)
		}
		s.enter(it)
	}
	return nil
}

// save returns the effects, those that are open by their places.
func (e *effects) save() (all []savedEffect, open []savedOpen) {
	all = make([]savedEffect, len(e.all))
	for number, i := range e.at {
		f := &e.all[i]
		all[i] = savedEffect{number, f.At, f.Over, f.Noticed, f.Recovered, f.Again}
	}
	for _, o := range e.open {
		open = append(open, savedOpen{o.effect, o.round})
	}
	return all, open
}

// readEffects returns the effects of a script.
func readEffects(script []fault.Fault, saved *savedFaults) (effects, error) {
	e := effects{at: make(map[int]int)}
	for i, f := range saved.Effects {
		if f.Number < 0 || f.Number >= len(script) {
			return e, fmt.Errorf("sim: the effect of fault %d of %d", f.Number, len(script))
		}
		e.at[f.Number] = i
		e.all = append(e.all, Effect{script[f.Number], f.At, f.Over, f.Noticed, f.Recovered, f.Again})
	}
	for _, o := range saved.Open {
		if o.Effect < 0 || o.Effect >= len(e.all) {
			return e, fmt.Errorf("sim: effect %d of %d", o.Effect, len(e.all))
		}
		e.open = append(e.open, open{o.Effect, o.Round})
	}
	return e, nil
}
