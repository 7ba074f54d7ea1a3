package peer_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/follow"
	"gossiptrainer/gossip/judge"
	"gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/topology"
)

// A party has the workers of a graph that changes, and the links that they want. All take their gradients in turn, once
// in a turn, and a link that is wanted takes some turns to come.
type party struct {
	t       *testing.T
	workers []*peer.Peer
	asked   []bool
	said    []gossip.Control // the news of each for the next handshake
	links   map[[2]topology.Rank]*tie
	delay   int
	rounds  int
	turn    int
}

// A tie is a link with what its two ends want of it.
type tie struct {
	wanted, left [2]bool
	up           bool
	since        int // the turn in which an end began to want it
}

func newParty(t *testing.T, kind topology.Kind, n, rounds, most, delay int, durable bool) *party {
	t.Helper()
	g, err := topology.New(topology.Spec{Kind: kind, N: n, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := &party{
		t: t, links: map[[2]topology.Rank]*tie{}, delay: delay, rounds: rounds, asked: make([]bool, n),
		said: make([]gossip.Control, n),
	}
	for i, rows := range g.Sequences() {
		rank := topology.Rank(i)
		alg := &algos.DPSGD{X: []float32{float32(i)}, Alpha: func(int) float32 { return 0.1 }, Codec: algos.Full{}}
		m, err := gossip.New(rank, rows, alg, rounds)
		if err != nil {
			t.Fatal(err)
		}
		s := peer.Start{
			Self: rank, Rows: rows, Links: most, Exchanges: rounds, Durable: gossip.Undurable,
			Judge: judge.Rules{Self: rank, Name: error.Error},
		}
		if durable {
			slots := gossip.SlotsOf(m)
			s.Durable = 0
			s.Replay = &replay.Start{Self: rank, Rows: rows, Slots: slots, Log: replay.NewMemory(slots, 0)}
		}
		w, err := peer.New(m, s)
		if err != nil {
			t.Fatal(err)
		}
		p.workers, p.said[i].Durable = append(p.workers, w), s.Durable
	}
	return p
}

func (p *party) tie(a, b topology.Rank) (l *tie, end int) {
	key := [2]topology.Rank{min(a, b), max(a, b)}
	if p.links[key] == nil {
		p.links[key] = new(tie)
	}
	if a > b {
		end = 1
	}
	return p.links[key], end
}

// advance does what a worker asks for, but for its gradient.
func (p *party) advance(i topology.Rank) {
	for more := true; more; {
		r := p.workers[i].Ready()
		p.must(r.Failed)
		for _, c := range r.Control {
			if c.Kind == gossip.Introduce {
				p.said[i] = c
				continue
			}
			switch l, end := p.tie(i, c.Peer); c.Kind {
			case gossip.CallPeer:
				if !l.wanted[0] && !l.wanted[1] {
					l.since = p.turn
				}
				l.wanted[end] = true
			case gossip.RestPeer:
				l.wanted[end] = false
			}
		}
		for _, f := range slices.Clone(r.Send) {
			l, end := p.tie(f.From, f.To)
			f.Payload = bytes.Clone(f.Payload)
			switch {
			case f.Kind == gossip.Bye:
				l.left[end] = true
			case l.up:
				if err := p.workers[f.To].Receive(f); err != nil && !gossip.Refusal(err) {
					p.t.Fatal(err)
				}
			}
		}
		p.asked[i] = p.asked[i] || r.Compute
		more = r.More
	}
}

func (p *party) must(err error) {
	if err != nil {
		p.t.Fatal(err)
	}
}

// settle ends and makes links until none changes.
func (p *party) settle() {
	for changed := true; changed; {
		changed = false
		for i := range p.workers {
			p.advance(topology.Rank(i))
		}
		for key, l := range p.links {
			var cause error
			switch wanted := l.wanted[0] || l.wanted[1]; {
			case l.up && l.left == [2]bool{true, true}:
				cause = gossip.ErrBye
			case l.up && !wanted && l.left == [2]bool{}:
				cause = gossip.ErrRest
			case !l.up && wanted && p.turn >= l.since+p.delay && l.left == [2]bool{}:
			default:
				continue
			}
			changed, l.up = true, cause == nil
			for end, i := range key {
				if cause == nil {
					mine, theirs := p.said[i], p.said[key[1-end]]
					p.must(p.workers[i].Met(key[1-end], gossip.Meeting{
						Theirs: theirs.Place, Ours: mine.Place, Durable: theirs.Durable, Kept: mine.Durable,
					}))
				} else {
					p.must(p.workers[i].Parted(key[1-end], cause))
				}
				p.advance(i)
			}
		}
	}
}

// train lets all workers do their rounds and leave, with a bound on the links open at once.
func (p *party) train(most int) {
	p.t.Helper()
	for ; p.turn < 500; p.turn++ {
		p.settle()
		open := make([]int, len(p.workers))
		for key, l := range p.links {
			if l.up {
				open[key[0]]++
				open[key[1]]++
			}
		}
		for i, w := range p.workers {
			if open[i] > most {
				p.t.Fatalf("turn %d: worker %d has %d links, want at most %d", p.turn, i, open[i], most)
			}
			if p.asked[i] {
				p.asked[i] = false
				p.must(w.Gradient([]float32{float32(i)}, 0, 0))
				p.advance(topology.Rank(i))
			}
			if w.Settle(); w.Settled() {
				p.must(w.Saved(p.rounds))
				p.advance(topology.Rank(i))
			}
			p.must(w.Tick(time.Duration(p.turn) * time.Millisecond))
		}
		if !slices.ContainsFunc(p.workers, func(w *peer.Peer) bool { return !w.Over() }) {
			return
		}
	}
	p.t.Fatal("some workers never leave")
}

// Links are there before the exchange that needs them, if they come in fewer exchanges than the worker looks ahead.
// Others rest. All workers leave, those with a log once each knows that no other one needs it.
func TestLinksFollowTheSchedule(t *testing.T) {
	const n, rounds = 16, 40
	for name, test := range map[string]struct {
		kind        topology.Kind
		links, most int
		delay       int
		durable     bool
		late        bool
	}{
		"in time":            {kind: topology.RandomMatching, links: 4, most: 8, delay: 2},
		"in time, with logs": {kind: topology.RandomMatching, links: 4, most: 8, delay: 2, durable: true},
		"in time, directed":  {kind: topology.RandomShift, links: 8, most: 14, delay: 2},
		"late":               {kind: topology.RandomMatching, links: 4, most: 8, delay: 5, late: true},
		"few ahead":          {kind: topology.RandomMatching, links: 2, most: 4, delay: 3, durable: true, late: true},
		"all stay open":      {kind: topology.RandomMatching, links: n - 1, most: n - 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newParty(t, test.kind, n, rounds, test.links, test.delay, test.durable)
			if test.links == n-1 {
				p.connect()
			}
			p.train(test.most)
			late := 0
			for i, w := range p.workers {
				late += w.Late()
				if !w.Done() || test.durable && !w.Unneeded() {
					t.Errorf("worker %d: done: %v, its log is unneeded: %v", i, w.Done(), w.Unneeded())
				}
			}
			if (late > 0) != test.late {
				t.Errorf("%d exchanges waited for a link, want some: %v", late, test.late)
			}
		})
	}
}

// connect makes all links, as drivers do where they never rest.
func (p *party) connect() {
	for i, w := range p.workers {
		for j := range i {
			if w.Seeks(topology.Rank(j)) {
				l, _ := p.tie(topology.Rank(i), topology.Rank(j))
				l.wanted = [2]bool{true, true}
			}
		}
	}
}

// A worker that comes back makes a link to each of its last partners, even where it meets them no more. One may lack a
// message that died with the earlier process, and cannot reach the new one.
func TestAWorkerThatComesBackMeetsItsLastPartners(t *testing.T) {
	const rank, place, rounds = 4, 21, 40
	g, err := topology.New(topology.Spec{Kind: topology.RandomMatching, N: 8, Slack: 1, Seed: 1, Exchanges: rounds})
	if err != nil {
		t.Fatal(err)
	}
	for _, began := range []int{0, place} {
		rows := g.Sequence(rank)
		alg := &algos.DPSGD{X: []float32{1}, Alpha: func(int) float32 { return 0.1 }, Codec: algos.Full{}}
		m, err := gossip.New(rank, rows, alg, rounds)
		if err != nil {
			t.Fatal(err)
		}
		w, err := peer.New(m, peer.Start{
			Self: rank, Rows: rows, Links: 3, Exchanges: rounds, Durable: began, Place: began,
			Judge: judge.Rules{Self: rank, Name: error.Error},
		})
		if err != nil {
			t.Fatal(err)
		}
		var met []topology.Rank
		for _, c := range w.Ready().Control {
			if c.Kind == gossip.MeetPeer {
				met = append(met, c.Peer)
			}
		}
		if want := follow.New(rows, 3, rounds).Last(nil, began); !slices.Equal(met, want) || (len(met) > 0) != (began > 0) {
			t.Errorf("from exchange %d on: meets %v, want %v", began, met, want)
		}
	}
}
