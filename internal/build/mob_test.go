package build

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	"gossiptrainer/gossip/judge"
	"gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/internal/bits"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/rng"
	"gossiptrainer/topology"
)

// A mob has the workers of a run on a virtual clock, each in all its layers, over links of random delay. One of them
// lies: it changes, repeats and invents frames, and what it says when links are made. Then its process ends for good.
type mob struct {
	t       testing.TB
	run     *experiment.Run
	mode    peer.Policy
	journal bool // workers keep messages and checkpoints
	liar    topology.Rank
	dice    *dice
	now     time.Duration
	events  []event
	serial  int
	members []*member
	links   map[[2]topology.Rank]int // number of the link that is up
	heard   []gossip.Frame           // that the liar has sent or received, to be said again
	refused int                      // frames of the liar
	byes    map[int]topology.Rank    // which end of a link has said bye, and one
	ends    time.Duration            // of the liar's process
}

// dice decide at random, and first as a script says.
type dice struct {
	script []byte
	*rand.Rand
}

// below returns a number in 0..n−1.
func (d *dice) below(n int) int {
	if len(d.script) == 0 {
		return d.IntN(n)
	}
	v := int(d.script[0]) % n
	d.script = d.script[1:]
	return v
}

// An event happens at a time.
type event struct {
	at     time.Duration
	serial int
	do     func()
}

// A member is a worker in a mob.
type member struct {
	*Worker
	core    *peer.Peer
	process uint64
	log     *replay.Memory
	intro   gossip.Control
	place   gossip.Ready                    // the last one: where the worker is
	refuses map[topology.Rank]uint64        // processes that it refuses
	left    map[topology.Rank]bool          // because it has gone on without them
	met     map[topology.Rank]uint64        // the process on the last link
	last    map[topology.Rank]time.Duration // arrival of the last frame, by sender
	fresh   int                             // a boundary whose state is not safe yet
	gone    bool                            // its process has ended, as it should or not
	sent    struct{ frames, bytes int }     // to the liar
}

const (
	liarLives = 4 * time.Second   // at most
	mobLives  = 400 * time.Second // for workers that find a neighbour missing
)

func newMob(t testing.TB, r *experiment.Run, mode peer.Policy, journal bool, d *dice) *mob {
	m := &mob{t: t, run: r, mode: mode, journal: journal, dice: d}
	m.links, m.byes = map[[2]topology.Rank]int{}, map[int]topology.Rank{}
	m.liar = topology.Rank(d.below(r.N()))
	m.ends = time.Duration(d.below(int(liarLives)))
	for _, w := range workers(t, r) {
		p := &member{
			Worker: w, process: uint64(w.Rank) + 1, refuses: map[topology.Rank]uint64{}, left: map[topology.Rank]bool{},
			met: map[topology.Rank]uint64{}, last: map[topology.Rank]time.Duration{},
		}
		m.members = append(m.members, p)
		m.embody(p)
	}
	for _, p := range m.members {
		for _, other := range p.Rows.Neighbours() {
			m.dial(p.Rank, other)
		}
		m.pulse(p)
	}
	m.after(m.ends, func() { m.end(m.members[m.liar]) })
	m.after(m.wait(20), m.lie)
	return m
}

// embody puts the layers around the machine of a worker, as a node does.
func (m *mob) embody(p *member) {
	s := peer.Start{
		Self: p.Rank, Rows: p.Rows, Lost: m.mode, Asynchronous: p.Asynchronous, Durable: gossip.Undurable,
		Judge: judge.Rules{Self: p.Rank, Name: func(why error) string {
			if _, bad := errors.AsType[*algos.MessageError](why); bad {
				return "unusable"
			}
			return "refused"
		}},
	}
	switch m.mode {
	case peer.Fail:
		s.Judge.Sentence = judge.StopRun
	case peer.Reweight:
		s.Elastic = &elastic.Start{Self: p.Rank, Row: p.Rows.At(0), Closing: p.Closing, Rounds: p.Rounds}
	}
	if m.journal {
		slots := gossip.SlotsOf(p.Machine)
		p.log, s.Durable = replay.NewMemory(slots, 0), 0
		s.Replay = &replay.Start{
			Self: p.Rank, Rows: p.Rows, Slots: slots, Log: p.log, Repairs: gossip.RepairsOf(p.Machine)().Verified,
		}
	}
	var err error
	if p.core, err = peer.New(p.Machine, s); err != nil {
		m.t.Fatal(err)
	}
	p.core.AtBoundary(func(k int) { p.fresh = k })
	p.intro = gossip.Control{Kind: gossip.Introduce, Durable: s.Durable}
}

func (m *mob) after(d time.Duration, do func()) {
	m.serial++
	m.events = append(m.events, event{m.now + d, m.serial, do})
}

// wait draws a time up to the given number of milliseconds.
func (m *mob) wait(most int) time.Duration {
	return time.Duration(1+m.dice.IntN(most)) * time.Millisecond
}

// play lets events happen until none is left, until the honest workers have nothing more to do, or until a time.
func (m *mob) play(until time.Duration) {
	for len(m.events) > 0 && m.now < until && !m.over() {
		at := 0
		for i, e := range m.events {
			if first := m.events[at]; e.at < first.at || e.at == first.at && e.serial < first.serial {
				at = i
			}
		}
		next := m.events[at]
		m.events[at] = m.events[len(m.events)-1]
		m.events = m.events[:len(m.events)-1]
		m.now = next.at
		next.do()
	}
}

// over reports whether all honest workers have ended.
func (m *mob) over() bool {
	return !slices.ContainsFunc(m.members, func(p *member) bool { return !p.gone && p.Rank != m.liar })
}

// end ends the process of a worker. Its neighbours lose their links.
func (m *mob) end(p *member) {
	p.gone = true
	for _, other := range m.members {
		m.lose(p.Rank, other.Rank)
	}
}

// pulse lets a worker look at the clock.
func (m *mob) pulse(p *member) {
	m.after(p.core.Pulse(), func() {
		if !p.gone {
			m.act(p)
			m.pulse(p)
		}
	})
}

// check takes an error of a worker. An honest one may end only because of the policy stop, and says who lies.
func (m *mob) check(p *member, err error) {
	if err == nil || p.gone {
		return
	}
	lost, isLost := errors.AsType[*peer.LostError](err)
	cut, isCut := errors.AsType[*judge.CutOffError](err)
	_, isBehind := errors.AsType[*elastic.LeftBehindError](err)
	switch {
	case p.Rank == m.liar:
	case m.mode == peer.Fail && (isLost && lost.Peer == m.liar || isCut && (cut.Peer == m.liar || m.believing())):
	case m.mode == peer.Fail && isLost && m.members[lost.Peer].gone: // that one has ended because of the liar
	case m.mode == peer.Reweight && isBehind && len(p.Rows.Neighbours()) == 1: // it has no other neighbour to ask
	default:
		m.t.Fatalf("%v: worker %d ends because of worker %d: %v", m.now, p.Rank, m.liar, err)
	}
	m.end(p)
}

// act does what the layers of a worker ask for.
func (m *mob) act(p *member) {
	m.check(p, p.core.Tick(m.now))
	for more := true; more && !p.gone; {
		r := p.core.Ready()
		p.place = gossip.Ready{Round: r.Round, Hop: r.Hop}
		for _, c := range r.Control {
			m.obey(p, c)
		}
		m.note(p, r.Notes)
		for _, f := range r.Send {
			f.Payload = bytes.Clone(f.Payload)
			m.say(p, f)
		}
		m.check(p, r.Failed)
		if r.Compute {
			m.compute(p, r.Round)
		}
		if more = r.More; !more && p.fresh > 0 && m.journal && !p.gone {
			m.check(p, p.core.Saved(p.fresh))
			p.fresh, more = 0, true
		}
		if !more && p.core.Done() && !p.core.Settled() {
			p.core.Settle()
			more = true
		}
	}
	if !p.gone && p.core.Over() && p.Rank != m.liar {
		m.end(p)
	}
}

// compute gives a worker an update after a while. It does not depend on the model: lies that the worker may believe
// must not make it diverge.
func (m *mob) compute(p *member, k int) {
	m.after(m.wait(30), func() {
		if p.gone {
			return
		}
		g := make([]float32, len(p.Machine.Params()))
		for i := range g {
			g[i] = rng.At(rng.Stream(7, int(p.Rank)), k).Uniform(uint32(i)) - 0.5
		}
		m.check(p, p.core.Tick(m.now))
		if !p.gone {
			m.check(p, p.core.Gradient(g, 1, m.now))
		}
		if !p.gone {
			m.act(p)
		}
	})
}

// believing reports whether theta or the bits of all workers follow what each tells the others in its notes. A liar
// then makes workers disagree by other notes for each, and they refuse each other's messages.
func (m *mob) believing() bool {
	own := m.run.Modulo() != nil && m.run.Modulo().InRun() && !m.run.Method().Asynchronous()
	return own || bits.Controlled(m.run.Config().Algorithm.Controller)
}

// note counts offences. Only the liar may be cut off.
func (m *mob) note(p *member, notes []gossip.Note) {
	for _, n := range notes {
		switch {
		case p.Rank == m.liar:
		case n.Peer != m.liar && m.believing():
		case n.Kind == gossip.CutOff && n.Peer != m.liar:
			m.t.Fatalf("worker %d cuts off worker %d, who is honest: %s", p.Rank, n.Peer, n.Text)
		case n.Kind == gossip.Unused && n.Peer == m.liar:
			m.refused++
		case n.Kind == gossip.Unusable && n.Peer != m.liar:
			m.t.Fatalf("worker %d cannot use a message of worker %d, who is honest: %v", p.Rank, n.Peer, n.Why)
		}
	}
}

// obey changes links as a worker asks.
func (m *mob) obey(p *member, c gossip.Control) {
	switch c.Kind {
	case gossip.Introduce:
		p.intro = c
	case gossip.CallPeer:
		m.dial(p.Rank, c.Peer)
	case gossip.LeavePeer, gossip.BanPeer:
		p.refuses[c.Peer] = m.members[c.Peer].process
		p.left[c.Peer] = c.Kind == gossip.LeavePeer
		m.lose(p.Rank, c.Peer)
	case gossip.DropLink:
		m.lose(p.Rank, c.Peer)
	}
}

func (m *mob) between(a, b topology.Rank) [2]topology.Rank {
	return [2]topology.Rank{min(a, b), max(a, b)}
}

// lose breaks a link. Its ends make another one if they can.
func (m *mob) lose(a, b topology.Rank) { m.part(a, b, errors.New("the link is lost")) }

// part ends a link. Both ends notice after the present event.
func (m *mob) part(a, b topology.Rank, cause error) {
	key := m.between(a, b)
	if m.links[key] == 0 {
		return
	}
	delete(m.links, key)
	for i, rank := range key {
		p, other := m.members[rank], key[1-i]
		m.after(0, func() {
			if !p.gone {
				m.check(p, p.core.Tick(m.now))
				m.check(p, p.core.Parted(other, cause))
				m.act(p)
			}
		})
	}
	if !errors.Is(cause, gossip.ErrBye) {
		m.dial(a, b)
	}
}

// dial makes a link after a while, unless one end refuses the other, or is gone.
func (m *mob) dial(a, b topology.Rank) {
	m.after(m.wait(50), func() {
		key := m.between(a, b)
		ends := [2]*member{m.members[key[0]], m.members[key[1]]}
		if ends[0].gone || ends[1].gone || m.links[key] > 0 {
			return
		}
		for i, p := range ends {
			if other := ends[1-i]; p.refuses[other.Rank] == other.process {
				m.deny(p, other)
				return
			}
		}
		m.meet(key, ends)
	})
}

// deny tells both ends that p refuses the other.
func (m *mob) deny(p, other *member) {
	why := errors.New("refused")
	for _, end := range []struct {
		of, peer *member
		remote   bool
	}{{p, other, false}, {other, p, true}} {
		if !end.of.gone {
			m.check(end.of, end.of.core.Parted(end.peer.Rank, &gossip.RefusedError{
				Remote: end.remote, Place: p.left[other.Rank], Err: why,
			}))
			m.act(end.of)
		}
	}
}

// meet makes a link. The liar says what it likes about its place.
func (m *mob) meet(key [2]topology.Rank, ends [2]*member) {
	said := [2]gossip.Control{ends[0].intro, ends[1].intro}
	for i, p := range ends {
		if p.Rank == m.liar {
			m.introduce(p, &said[i])
		}
	}
	for i, p := range ends {
		if p.Rank != m.liar && !m.fits(p, said[i], said[1-i]) {
			other := ends[1-i]
			m.check(p, p.core.Parted(other.Rank, &gossip.RefusedError{Place: true, Err: errors.New("lost its place")}))
			m.act(p)
			m.dial(key[0], key[1])
			return
		}
	}
	m.serial++
	number := m.serial
	m.links[key] = number
	for i, p := range ends {
		other := ends[1-i]
		if p.gone || m.links[key] != number {
			return
		}
		known, ever := p.met[other.Rank]
		p.met[other.Rank], p.last[other.Rank] = other.process, m.now
		m.check(p, p.core.Tick(m.now))
		if !p.gone {
			m.check(p, p.core.Met(other.Rank, gossip.Meeting{
				Theirs: said[1-i].Place, Ours: said[i].Place, Durable: said[1-i].Durable, Kept: said[i].Durable,
				Process: other.process, Renewed: ever && known != other.process,
			}))
		}
		if !p.gone {
			m.act(p)
		}
	}
}

// fits reports whether a worker takes the other end for one in its place, as the handshake decides it.
func (m *mob) fits(p *member, mine, theirs gossip.Control) bool {
	gap, lead := theirs.Place-mine.Place, gossip.SlotsOf(p.Machine).Lead
	switch {
	case m.mode == peer.Reweight:
		return true
	case m.journal:
		oldest, _ := p.log.Span()
		return oldest <= theirs.Place
	}
	return -lead <= gap && gap <= lead
}

// say sends a frame of a worker.
func (m *mob) say(p *member, f gossip.Frame) {
	if p.Rank == m.liar {
		m.hear(f)
		for _, changed := range m.twist(p, f) {
			m.post(changed)
		}
		return
	}
	if f.To == m.liar {
		p.sent.frames++
		p.sent.bytes += len(f.Payload)
		m.hear(f)
	}
	m.post(f)
}

// post delivers a frame after a while, in order, unless its link is lost. A link ends when both ends have said bye.
func (m *mob) post(f gossip.Frame) {
	key := m.between(f.From, f.To)
	number, p := m.links[key], m.members[f.To]
	if number == 0 {
		return
	}
	at := max(p.last[f.From], m.now+m.wait(20))
	p.last[f.From] = at
	m.after(at-m.now, func() {
		switch {
		case p.gone || m.links[key] != number:
		case f.Kind != gossip.Bye:
			m.receive(p, f)
		case m.byes[number] == 1+f.To:
			m.part(f.From, f.To, gossip.ErrBye)
		default:
			m.byes[number] = 1 + f.From
		}
	})
}

// receive gives a worker a frame. A frame of the liar that it refuses changes no model.
func (m *mob) receive(p *member, f gossip.Frame) {
	m.check(p, p.core.Tick(m.now))
	before := slices.Clone(p.Machine.Params())
	f.Payload = bytes.Clone(f.Payload)
	err := p.core.Receive(f)
	changed := !slices.Equal(before, p.Machine.Params())
	m.check(p, err)
	if p.gone || p.Rank == m.liar {
		return
	}
	refused := m.refused
	m.act(p)
	if f.From == m.liar && m.refused > refused && changed {
		m.t.Fatalf("worker %d refuses a frame, which changes its model: %+v", p.Rank, f)
	}
}
