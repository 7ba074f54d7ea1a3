package replay_test

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/gossip/state"
	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/topology"
)

// A world has the workers of a task in memory. One worker acts at a time.
type world struct {
	t       *rapid.T
	tb      *testing.T
	job     task
	workers []*worker
	links   map[[2]topology.Rank]*line // by the lower rank
	faults  int                        // number of faults still to come
	keeps   int                        // checkpoints that a worker keeps
}

// A worker is one worker of a world, through all its lives.
type worker struct {
	rank  topology.Rank
	row   topology.Row
	log   *replay.Memory
	saved []checkpoint // the oldest first; empty: it begins at round 0
	life  uint64

	layer   *replay.Replay // nil while the process is dead
	machine *gossip.Worker
	fresh   []checkpoint // taken, but not safe yet
	met     map[topology.Rank]uint64
	said    gossip.Control // its news for the next handshake
	asked   []float32      // point of the outstanding gradient, or nil
	done    bool
	hangs   int // turns that it misses
}

type checkpoint struct {
	round int
	state *state.Snapshot
}

// A line is a link with the frames under way, by receiving end.
type line struct{ frames [2][]flying }

// A flying frame has a copy of itself as it was sent.
type flying struct {
	gossip.Frame
	want []byte
}

func newWorld(t *rapid.T, tb *testing.T, job task) *world {
	w := &world{
		t: t, tb: tb, job: job, links: make(map[[2]topology.Rank]*line),
		faults: rapid.IntRange(0, 12).Draw(t, "faults"), keeps: rapid.IntRange(1, 2).Draw(t, "keeps"),
	}
	for i, row := range job.rows(tb) {
		m := &worker{rank: topology.Rank(i), row: row}
		w.workers = append(w.workers, m)
		w.start(m)
	}
	return w
}

// A spoiler lends buffers, and spoils those that come back.
type spoiler struct{}

func (spoiler) Get(n int) []byte { return make([]byte, n) }

func (spoiler) Put(b []byte) {
	for i := range b {
		b[i] ^= 0xff
	}
}

// start begins a life of a worker at its oldest checkpoint, as if newer ones were damaged.
func (w *world) start(m *worker) {
	var from checkpoint
	if len(m.saved) > 0 {
		from = m.saved[0]
		m.saved = m.saved[:1]
	}
	m.machine = w.job.machine(w.tb, m.rank, from.state)
	m.machine.Borrow(spoiler{})
	slots := m.machine.Slots()
	place := slots.Of(from.round, 0)
	if m.log == nil {
		m.log = replay.NewMemory(slots, 0)
	}
	m.log.Rewind(place)
	m.life++
	m.met, m.asked, m.done, m.fresh = make(map[topology.Rank]uint64), nil, false, nil
	m.said = gossip.Control{Place: place, Durable: place}
	m.layer = replay.New(gossip.NewLinked(m.machine, m.rank, place, place), replay.Start{
		Self: m.rank, Rows: m.row, Slots: slots, Log: m.log, Repairs: w.job.verified,
	})
	m.layer.AtBoundary(func(k int) {
		if rapid.IntRange(0, 2).Draw(w.t, "checkpoint") == 0 || k == w.job.rounds {
			s := new(state.Snapshot)
			s.Save("machine", m.machine)
			m.fresh = append(m.fresh, checkpoint{k, s})
		}
	})
	w.advance(m)
}

// advance carries out the requests of a worker.
func (w *world) advance(m *worker) {
	for more := true; more; {
		r := m.layer.Ready()
		if r.Failed != nil {
			w.t.Fatal(r.Failed)
		}
		for _, c := range r.Control {
			switch c.Kind {
			case gossip.Introduce:
				m.said = c
			case gossip.DropLink:
				w.cut(m.rank, c.Peer)
			}
		}
		for _, f := range r.Send {
			if l := w.links[pair(f.From, f.To)]; l != nil {
				l.frames[end(f)] = append(l.frames[end(f)], flying{f, bytes.Clone(f.Payload)})
			}
		}
		if r.Compute {
			m.asked = r.At
		}
		m.done, more = r.Done, r.More
	}
	if len(m.fresh) > 0 {
		m.saved = append(m.saved, m.fresh...)
		m.fresh = nil
		if n := len(m.saved) - w.keeps; n > 0 {
			m.saved = slices.Delete(m.saved, 0, n)
		}
		w.must(m.layer.Saved(m.saved[0].round))
		w.advance(m)
	}
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

func pair(a, b topology.Rank) [2]topology.Rank { return [2]topology.Rank{min(a, b), max(a, b)} }

// end returns the end of a line that receives a frame.
func end(f gossip.Frame) int {
	if f.To < f.From {
		return 0
	}
	return 1
}

// cut breaks a link: both ends notice at once.
func (w *world) cut(a, b topology.Rank) {
	key := pair(a, b)
	if w.links[key] == nil {
		return
	}
	delete(w.links, key)
	for _, rank := range key {
		if m, other := w.workers[rank], key[0]+key[1]-rank; m.layer != nil {
			w.must(m.layer.Parted(other, nil))
			w.advance(m)
		}
	}
}

// meet makes a link.
func (w *world) meet(key [2]topology.Rank) {
	w.links[key] = new(line)
	said := [2]gossip.Control{w.workers[key[0]].said, w.workers[key[1]].said}
	for i, rank := range key {
		m, peer := w.workers[rank], w.workers[key[1-i]]
		if base, _ := m.log.Span(); slices.Contains(m.row.Out, peer.rank) && base > said[1-i].Place {
			w.t.Fatalf("worker %d keeps messages from %d on, worker %d comes back to %d",
				rank, base, peer.rank, said[1-i].Place)
		}
		was := m.met[peer.rank]
		m.met[peer.rank] = peer.life
		w.must(m.layer.Met(peer.rank, gossip.Meeting{
			Theirs: said[1-i].Place, Ours: said[i].Place, Durable: said[1-i].Durable, Kept: said[i].Durable,
			Process: peer.life, Renewed: was != 0 && was != peer.life,
		}))
		w.advance(m)
	}
}

// turns returns the possible next actions, without those of workers that hang.
func (w *world) turns() (all []func()) {
	idle := func(rank topology.Rank) bool { return w.workers[rank].layer == nil || w.workers[rank].hangs > 0 }
	for _, m := range w.workers {
		switch {
		case m.layer == nil:
			all = append(all, func() { w.start(m) })
		case m.asked != nil && m.hangs == 0:
			all = append(all, func() {
				x := m.asked
				m.asked = nil
				w.must(m.layer.Gradient(w.job.gradient(m.rank, x), 0, 0))
				w.advance(m)
			})
		}
	}
	for _, key := range w.edges() {
		l := w.links[key]
		if l == nil {
			if !idle(key[0]) && !idle(key[1]) {
				all = append(all, func() { w.meet(key) })
			}
			continue
		}
		for i := range l.frames {
			if len(l.frames[i]) > 0 && !idle(key[i]) {
				all = append(all, func() { w.deliver(w.workers[key[i]], l, i) })
			}
		}
	}
	return all
}

func (w *world) edges() (keys [][2]topology.Rank) {
	for _, m := range w.workers {
		for _, peer := range m.row.Out {
			if key := pair(m.rank, peer); !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func (w *world) deliver(m *worker, l *line, i int) {
	f := l.frames[i][0]
	l.frames[i] = l.frames[i][1:]
	if !bytes.Equal(f.Payload, f.want) {
		w.t.Fatalf("the payload of round %d from %d to %d was rewritten in flight", f.Round, f.From, f.To)
	}
	if err := m.layer.Receive(f.Frame); err != nil && !gossip.Refusal(err) {
		w.t.Fatal(err)
	}
	w.advance(m)
}

// fault makes something fail.
func (w *world) fault() {
	w.faults--
	m := rapid.SampledFrom(w.workers).Draw(w.t, "worker")
	switch rapid.IntRange(0, 3).Draw(w.t, "fault") {
	case 0, 1: // the process dies
		if m.layer != nil {
			m.layer = nil
			for peer := range w.workers {
				w.cut(m.rank, topology.Rank(peer))
			}
			m.hangs = 0
		}
	case 2:
		w.cut(m.rank, rapid.SampledFrom(m.row.Out).Draw(w.t, "peer"))
	case 3:
		m.hangs = rapid.IntRange(1, 200).Draw(w.t, "turns")
	}
}

// run acts until all workers are done, and returns the models.
func (w *world) run() (models [][]float32) {
	for {
		for _, m := range w.workers {
			m.hangs = max(0, m.hangs-1)
		}
		if w.faults > 0 && rapid.IntRange(0, 29).Draw(w.t, "fault now") == 0 {
			w.fault()
		}
		turns := w.turns()
		over := !slices.ContainsFunc(w.workers, func(m *worker) bool { return m.layer == nil || !m.done })
		if over {
			break
		}
		if len(turns) > 0 {
			turns[rapid.IntRange(0, len(turns)-1).Draw(w.t, "turn")]()
		} else if !slices.ContainsFunc(w.workers, func(m *worker) bool { return m.hangs > 0 }) {
			w.t.Fatal("no worker can go on")
		}
	}
	for _, m := range w.workers {
		models = append(models, m.layer.Params())
	}
	return models
}

// Workers die, hang and lose links at any time. The models equal those of a run without faults.
func TestARunWithFaultsEndsAsOneWithout(t *testing.T) {
	for name, job := range map[string]task{
		"a pair":               {n: 2, dim: 5, rounds: 12},
		"a ring":               {n: 5, dim: 5, rounds: 12},
		"a cycle":              {n: 4, dim: 8, rounds: 5, cycle: true},
		"verified, three":      {n: 3, dim: 40, rounds: 12, verified: true},
		"verified, four":       {n: 4, dim: 40, rounds: 12, verified: true},
		"verified, six":        {n: 6, dim: 30, rounds: 7, verified: true},
		"a long ring, briefly": {n: 9, dim: 3, rounds: 4},
		"pieces on a ring":     {n: 4, dim: 5, rounds: 8, piece: 2},
		"verified pieces":      {n: 3, dim: 40, rounds: 8, verified: true, piece: 16},
		"two verified pieces":  {n: 4, dim: 40, rounds: 6, verified: true, piece: 30},
	} {
		t.Run(name, func(t *testing.T) {
			want := job.undisturbed(t)
			rapid.Check(t, func(r *rapid.T) {
				for rank, got := range newWorld(r, t, job).run() {
					if !slices.Equal(got, want[rank]) {
						r.Fatalf("worker %d: %v, undisturbed %v", rank, got, want[rank])
					}
				}
			})
		})
	}
}
