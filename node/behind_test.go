package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/record"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
	"gossiptrainer/node/link"
	"gossiptrainer/topology"
)

// elastic returns a worker of a ring that goes on without lost workers.
func (c task) elastic(t testing.TB, rank int) Worker {
	t.Helper()
	w := c.worker(t, rank)
	w.Lost, w.Closing = Reweight, c.closing(t, rank)
	w.Save = func(s *state.Snapshot) {
		s.Begin()
		s.Save("machine", w.Machine)
	}
	return w
}

func (c task) closing(t testing.TB, rank int) *topology.Closing {
	t.Helper()
	g, err := topology.New(topology.Spec{Kind: topology.Ring, N: c.n, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	return g.Closing(topology.Rank(rank))
}

// returned returns a worker that has come back.
func (c task) returned(t testing.TB, rank int, g Place, s *state.Snapshot) (Worker, error) {
	t.Helper()
	w := c.elastic(t, rank)
	weight := w.Closing.Weight
	w.Place = &g
	w.Rows = topology.Row{Self: 1 - weight, In: []topology.Edge{{Peer: g.Sponsor, Weight: weight}},
		Out: []topology.Rank{g.Sponsor}}
	var err error
	w.Machine, err = gossip.Resume(w.Rank, w.Rows, c.algorithm(t, rank), gossip.Schedule{Rounds: c.rounds, Every: 1}, s)
	return w, err
}

// A reboot is an endless run in which worker 2 dies in round 20 and starts again as it did the first
// time. The run ends when worker 2 has trained with both neighbours.
type reboot struct {
	job    task
	ctx    context.Context
	events chan record.Event // edges of worker 2, and its steps
	dead   chan struct{}

	liar    bool          // the first worker that gives a place gives an unusable state
	refused topology.Rank // that worker; -1: none so far
}

func (r *reboot) observe(o *Options) {
	o.Observe = func(e record.Event) {
		if e.Edge == nil && (e.Step == nil || e.Step.Rank != 2) {
			return
		}
		select {
		case r.events <- e:
		case <-r.ctx.Done():
		}
	}
}

// second runs the second process of worker 2.
func (r *reboot) second(t *testing.T, n *Node) error {
	if _, err := n.Join(r.ctx); err != nil {
		return err
	}
	if _, err := n.Run(r.ctx, r.job.elastic(t, 2)); !errors.Is(err, ErrLeftBehind) {
		return fmt.Errorf("began again: %v, want %v", err, ErrLeftBehind)
	}
	var w Worker
	place, err := n.ComeBack(r.ctx, r.job.closing(t, 2), nil, func(p Place, s *state.Snapshot) (err error) {
		if r.liar && r.refused < 0 {
			r.refused = p.Sponsor
		}
		if p.Sponsor == r.refused {
			return errors.New("a state of another model")
		}
		w, err = r.job.returned(t, 2, p, s)
		return err
	})
	if err != nil {
		return err
	}
	if place.Round < 20 || place.Sponsor != 1 && place.Sponsor != 3 {
		return fmt.Errorf("place %+v, want one next to it, after round 20", place)
	}
	if r.liar {
		return nil // the liar has lost the place next to it
	}
	if _, err = n.Run(r.ctx, w); !interrupted(err) {
		return err
	}
	return nil
}

// interrupted reports whether this worker was interrupted, or another one that then stopped the run.
func interrupted(err error) bool {
	stop, told := errors.AsType[*StoppedError](err)
	return errors.Is(err, context.Canceled) || told && strings.Contains(stop.Reason, context.Canceled.Error())
}

// seated waits until the second process of worker 2 has two edges and has done a round with both
// neighbours.
func (r *reboot) seated() {
	from, edges, back := 0, map[int]bool{}, false
	for {
		var e record.Event
		select {
		case e = <-r.events:
		case <-r.ctx.Done():
			return
		}
		switch {
		case e.Edge != nil && e.Edge.Peer == 2:
			back = true
		case e.Edge != nil && back:
			edges[e.Edge.Peer], from = e.Edge.Weight > 0, e.Edge.Exchange
		case e.Step != nil && edges[1] && edges[3] && e.Step.Round > from+1:
			return
		}
	}
}

// TestAWorkerThatStartsAgainComesBack starts the same process again, as after a reboot of its machine.
// The process learns that the run has gone on, and gets a place.
func TestAWorkerThatStartsAgainComesBack(t *testing.T) { testReboot(t, false) }

// A worker whose state is unusable ends no worker: the next one gives another state.
func TestAnUnusableStateEndsNoWorker(t *testing.T) { testReboot(t, true) }

func testReboot(t *testing.T, liar bool) {
	t.Helper()
	t.Parallel() // it waits for links that are lost
	who, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	r := &reboot{job: task{n: 5, dim: 100, rounds: 1 << 20}, ctx: ctx, events: make(chan record.Event),
		dead: make(chan struct{}), liar: liar, refused: -1}
	var once sync.Once
	r.job.slow = func(rank, k int) {
		if rank == 2 && k == 20 {
			once.Do(func() { close(r.dead) })
		}
	}
	c := newCluster(t, 5, 100, func(rank int, o *Options) {
		if rank == 2 {
			o.Identity = who
		}
	})
	var all sync.WaitGroup
	defer all.Wait()
	defer end()
	for i, n := range c.nodes {
		w := r.job.elastic(t, i)
		all.Go(func() {
			_, err := n.Join(ctx)
			if err == nil {
				_, err = n.Run(ctx, w)
			}
			if i != 2 && !interrupted(err) {
				t.Errorf("worker %d: %v", i, err)
			}
		})
	}
	<-r.dead
	c.nodes[2].host.Close()
	n := c.again(t, 2, r.observe, who)
	all.Go(func() {
		defer end()
		if err := r.second(t, n); err != nil {
			t.Error(err)
		}
	})
	r.seated()
}

// again starts a node in the place of a dead one.
func (c *cluster) again(t *testing.T, rank int, change func(o *Options), who *identity.Identity) *Node {
	t.Helper()
	o := c.nodes[rank].opts
	o.Identity = who
	change(&o)
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	var peers []Peer
	for i, other := range c.nodes {
		if i == rank {
			other = n
		}
		peers = append(peers, Peer{ID: other.ID(), Addrs: other.Addrs()})
	}
	if err := n.SetRoster(peers); err != nil {
		t.Fatal(err)
	}
	return n
}

// reweighted returns the driver of worker 1 of a ring of three under Reweight.
func reweighted(t *testing.T, change func(w *Worker)) *driver {
	t.Helper()
	w := task{n: 3, dim: 4, rounds: 5}.elastic(t, 1)
	if change != nil {
		change(&w)
	}
	return driverOf(t, w, newScript())
}

func TestWhoIsLeftBehind(t *testing.T) {
	deny := func(reason handshake.Reason, remote bool, by ...topology.Rank) (all []link.Event) {
		for _, rank := range by {
			all = append(all, link.Event{Kind: link.Refused, Peer: rank, Err: &RefusedError{Reason: reason, Remote: remote}})
		}
		return all
	}
	up := func(theirs, ours int, with ...topology.Rank) (all []link.Event) {
		for _, rank := range with {
			met := gossip.Meeting{Theirs: theirs, Ours: ours, Durable: gossip.Undurable}
			all = append(all, link.Event{Kind: link.Up, Peer: rank, Met: met})
		}
		return all
	}
	back := func(w *Worker) { w.Returned = true }
	placed := func(w *Worker) { w.Place = &Place{Sponsor: 0, Round: 3, Exchange: 3} }
	tests := map[string]struct {
		change func(w *Worker)
		events []link.Event
		behind bool
	}{
		"told that it has lost its state":    {nil, deny(LostState, true, 2, 0), true},
		"told that the others have gone on":  {nil, deny(LeftBehind, true, 0, 2), true},
		"told by one neighbour":              {nil, deny(LeftBehind, true, 2), false},
		"told by one neighbour twice":        {nil, deny(LeftBehind, true, 2, 2), false},
		"it is this worker that has gone on": {nil, deny(LeftBehind, false, 0, 2), false},
		"told by one that it has met": {nil,
			slices.Concat(up(0, 0, 2), []link.Event{{Kind: link.Down, Peer: 2}}, deny(LeftBehind, true, 2, 0)), false},
		"another neighbour waits for it":         {nil, append(deny(LostState, true, 2), up(0, 0, 0)...), false},
		"another neighbour has waited for it":    {nil, append(up(1, 0, 0), deny(LeftBehind, true, 2)...), false},
		"it has come back, and one refuses":      {back, append(up(0, 0, 0), deny(LeftBehind, true, 2)...), true},
		"it has come back, and one is ahead":     {back, append(up(0, 0, 0), up(2, 0, 2)...), true},
		"has a place":                            {placed, deny(LeftBehind, true, 2, 0), false},
		"both neighbours are too far ahead":      {nil, up(2, 0, 0, 2), true},
		"one is too far ahead, one refuses":      {nil, append(up(2, 0, 0), deny(LeftBehind, true, 2)...), true},
		"one is too far ahead, one waits for it": {nil, append(up(2, 0, 0), up(0, 0, 2)...), false},
		"both neighbours are ahead":              {nil, up(1, 0, 0, 2), false},
		"neighbours are ahead of a later place":  {nil, up(9, 3, 0, 2), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := reweighted(t, test.change)
			var err error
			for _, e := range test.events {
				if err = d.handle(e); err != nil {
					break
				}
			}
			if net, ok := errors.AsType[*NetworkError](err); errors.Is(err, ErrLeftBehind) != test.behind || ok != test.behind {
				t.Errorf("error %v (%v), want left behind: %v", err, net, test.behind)
			}
		})
	}
}

func TestNobodyIsTakenBackAfterTheLastRound(t *testing.T) {
	for name, spoil := range map[string]func(w *Worker){
		"done":        func(w *Worker) { w.Machine = task{n: 3, dim: 4}.worker(t, 1).Machine },
		"last rounds": func(w *Worker) { w.Rounds = 1 },
	} {
		d := reweighted(t, spoil)
		met := gossip.Meeting{Durable: gossip.Undurable}
		if err := d.handle(link.Event{Kind: link.Up, Peer: 0, Met: met}); err != nil {
			t.Fatal(err)
		}
		if err := d.advance(); err != nil {
			t.Fatal(err)
		}
		g := candidate{rank: 2, answer: make(chan invitation, 1)}
		if err := d.host(g); err != nil {
			t.Fatal(err)
		}
		if in := <-g.answer; !in.over || in.state != nil {
			t.Errorf("%s: invitation %+v, want none for good", name, in)
		}
	}
}

func TestOnlyARingTakesBack(t *testing.T) {
	c := newCluster(t, 1, 10, nil)
	_, err := c.nodes[0].ComeBack(t.Context(), nil, nil, nil)
	if !errors.Is(err, ErrLeftBehind) || !strings.Contains(err.Error(), "on a ring takes a lost worker back") {
		t.Errorf("error %v, want why it has no place", err)
	}
}

// TestAWorkerWithoutSponsorGivesUp asks for a place in a run that all others have left.
func TestAWorkerWithoutSponsorGivesUp(t *testing.T) {
	t.Parallel() // it waits for an answer
	c := newCluster(t, 3, 10, nil)
	for _, n := range c.nodes[1:] {
		n.host.Close()
	}
	u := newUmpire(1)
	u.end()
	_, err := c.nodes[0].ComeBack(t.Context(), task{n: 3}.closing(t, 0), seat{u, 0}, nil)
	if !errors.Is(err, ErrLeftBehind) || !strings.Contains(err.Error(), "no worker gave it a place") {
		t.Errorf("error %v, want that no worker gave it a place", err)
	}
	<-u.ended // the worker had told the arbiter that it begins no round
}
