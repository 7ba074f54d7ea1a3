package replay_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/topology"
)

// A rehearsal is worker 1 of a task, driven by hand.
type rehearsal struct {
	t *testing.T
	task
	*replay.Replay
	log     *replay.Memory
	slots   gossip.Slots
	ready   gossip.Ready // the last without More
	compute bool
	at      []float32
	sent    []gossip.Frame
	control []gossip.Control
	notes   []gossip.Note
}

func rehearse(t *testing.T, job task, most int64) *rehearsal {
	t.Helper()
	m := job.machine(t, 1, nil)
	r := &rehearsal{t: t, task: job, slots: m.Slots(), log: replay.NewMemory(m.Slots(), 0)}
	r.Replay = replay.New(gossip.NewLinked(m, 1, 0, 0), replay.Start{
		Self: 1, Rows: job.rows(t)[1], Slots: m.Slots(), Log: r.log, Most: most, Repairs: job.verified,
	})
	r.advance()
	return r
}

func ring() task { return task{n: 3, dim: 8, rounds: 50} }

// advance carries out the requests of the layer.
func (r *rehearsal) advance() {
	r.t.Helper()
	for more := true; more; {
		got := r.Ready()
		if got.Failed != nil {
			r.t.Fatal(got.Failed)
		}
		r.sent = append(r.sent, got.Send...)
		r.control, r.notes = append(r.control, got.Control...), append(r.notes, got.Notes...)
		if got.Compute {
			r.compute, r.at = true, got.At
		}
		r.ready, more = got, got.More
	}
}

func (r *rehearsal) do(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	r.advance()
}

func (r *rehearsal) place() int { return r.slots.Of(r.ready.Round, r.ready.Hop) }

func (r *rehearsal) meet(peer topology.Rank, theirs int) {
	r.t.Helper()
	r.do(r.Met(peer, gossip.Meeting{Theirs: theirs, Ours: r.place()}))
}

func (r *rehearsal) told(peer topology.Rank, kind gossip.FrameKind, k int) {
	r.t.Helper()
	r.do(r.Receive(gossip.Frame{From: peer, To: 1, Kind: kind, Round: k}))
}

// round completes a round.
func (r *rehearsal) round() {
	r.t.Helper()
	k := r.ready.Round
	for _, from := range []topology.Rank{0, 2} {
		r.do(r.Receive(gossip.Frame{From: from, To: 1, Round: k, Payload: make([]byte, 4*r.dim)}))
	}
	r.step()
	if r.ready.Round != k+1 {
		r.t.Fatalf("round %d has not ended", k)
	}
}

// step takes the gradient that the layer asks for.
func (r *rehearsal) step() {
	r.t.Helper()
	if !r.compute {
		r.t.Fatal("no gradient is asked for")
	}
	r.compute = false
	r.do(r.Gradient(make([]float32, r.dim), 0, 0))
}

// gets returns the rounds of the frames of a kind that a neighbour has received since the last call for it.
func (r *rehearsal) gets(peer topology.Rank, kind gossip.FrameKind) (rounds []int) {
	r.sent = slices.DeleteFunc(r.sent, func(f gossip.Frame) bool {
		if f.To == peer && f.Kind == kind {
			rounds = append(rounds, f.Round)
			return true
		}
		return false
	})
	return rounds
}

func (r *rehearsal) expect(what string, peer topology.Rank, want ...int) {
	r.t.Helper()
	if got := r.gets(peer, gossip.Data); !slices.Equal(got, want) {
		r.t.Errorf("%s: worker %d gets rounds %v, want %v", what, peer, got, want)
	}
}

func TestAReturningNeighbourGetsEachMessageOnce(t *testing.T) {
	r := rehearse(t, ring(), 0)
	r.meet(0, 0)
	r.meet(2, 0)
	r.expect("at the beginning", 0, 0)
	for range 5 {
		r.round()
	}
	r.expect("in step, but not yet sure of it", 0, 1)
	r.told(0, gossip.Place, 1)
	r.told(0, gossip.Place, 2)
	r.expect("in step", 0, 2, 3, 4, 5)
	r.round()
	r.expect("in step", 0, 6)

	r.do(r.Parted(0, errors.New("cable cut")))
	r.meet(0, 2)
	r.expect("back at 2", 0, 2, 3)
	r.told(0, gossip.Place, 3)
	r.expect("at 3", 0, 4)
	r.told(0, gossip.Place, 3)
	r.expect("once more at 3", 0)
	r.told(0, gossip.Place, 5)
	r.expect("at 5", 0, 5, 6)
	r.round()
	r.expect("a new round", 0)
	if !slices.Contains(r.ready.Owed, 0) {
		t.Errorf("owed: %v, want worker 0 among them", r.ready.Owed)
	}
	r.told(0, gossip.Place, 7)
	r.expect("at 7", 0, 7)
	r.told(0, gossip.Place, 8)
	r.round()
	r.expect("in step again", 0, 8)
	if slices.Contains(r.ready.Owed, 0) {
		t.Errorf("owed: %v, and worker 0 has all", r.ready.Owed)
	}

	r.expect("one that has said nothing since its link came up", 2, 0, 1)
}

// A worker of a cycle receives nothing from the worker behind it. It never sends more than that worker can take,
// however far the workers in front let it run.
func TestAlongACycleNoWorkerGetsMoreThanItCanTake(t *testing.T) {
	r := rehearse(t, task{n: 4, dim: 12, rounds: 50, cycle: true}, 0)
	r.meet(0, 0)
	r.meet(2, 0)
	slots := r.slots
	for k := range 5 {
		r.step()
		for hop := range slots.Hops {
			r.do(r.Receive(gossip.Frame{From: 0, To: 1, Round: k, Hop: hop, Payload: make([]byte, 12)}))
		}
	}
	if r.place() != 5*slots.Hops {
		t.Fatalf("at exchange %d, want %d", r.place(), 5*slots.Hops)
	}
	sent := 0
	for theirs := range r.place() - slots.Lead {
		place := gossip.Frame{From: 2, To: 1, Kind: gossip.Place, Round: theirs / slots.Hops, Hop: theirs % slots.Hops}
		r.do(r.Receive(place))
		sent += len(r.gets(2, gossip.Data))
		if want := min(theirs+slots.Lead+1, r.place()); sent != want {
			t.Fatalf("worker 2 is at exchange %d and was sent %d, want %d", theirs, sent, want)
		}
	}
	if n := len(r.gets(2, gossip.Place)); n != 0 {
		t.Errorf("worker 2, which sends nothing, was told of %d places", n)
	}
	if n, want := len(r.gets(0, gossip.Place)), 5*slots.Hops/(slots.Lead-1); n != want {
		t.Errorf("the one in front was told of %d places, want %d", n, want)
	}
}

func TestPlacesAreToldUntilBothAreInStep(t *testing.T) {
	r := rehearse(t, ring(), 0)
	r.meet(0, 4)
	r.meet(2, 0)
	for range 9 {
		r.round()
	}
	if got, want := r.gets(0, gossip.Place), []int{1, 2, 3, 4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("the one in front was told of rounds %v, want %v", got, want)
	}
	if got, want := r.gets(2, gossip.Place), []int{1, 2}; !slices.Equal(got, want) {
		t.Errorf("the one beside was told of rounds %v, want %v", got, want)
	}
	r.expect("in front", 0, 4, 5)
}

func TestMessagesAreKeptUntilAllNeighboursAreSafe(t *testing.T) {
	r := rehearse(t, ring(), 0)
	r.meet(0, 0)
	r.meet(2, 0)
	for range 10 {
		r.round()
	}
	kept := func(want int) {
		t.Helper()
		if base, _ := r.log.Span(); base != want {
			t.Errorf("kept from %d on, want %d", base, want)
		}
	}
	r.told(0, gossip.Durable, 6)
	kept(0) // worker 2 has no checkpoint yet
	r.told(2, gossip.Durable, 4)
	kept(4)
	// A neighbour that keeps no checkpoints needs the messages that it may not have mixed.
	r.do(r.Parted(2, errors.New("cable cut")))
	r.do(r.Met(2, gossip.Meeting{Theirs: 10, Ours: 10, Durable: gossip.Undurable}))
	r.told(0, gossip.Durable, 10)
	kept(9)
	if r.Over() {
		t.Error("over, although worker 0 may come back to exchange 10")
	}
	r.told(0, gossip.Durable, 11)
	if !r.Over() {
		t.Error("not over, although no worker can come back")
	}
}

// The worker reports a checkpoint that becomes safe between the handshake and the link.
func TestACheckpointIsToldOf(t *testing.T) {
	r := rehearse(t, ring(), 0)
	r.meet(2, 0)
	r.do(r.Saved(7))
	if got := r.gets(2, gossip.Durable); !slices.Equal(got, []int{7}) {
		t.Errorf("the neighbour there is was told of %v, want 7", got)
	}
	if got := r.control[len(r.control)-1]; got.Kind != gossip.Introduce || got.Durable != 7 || got.Place != 0 {
		t.Errorf("the next to be met hears %+v, want the checkpoint at 7", got)
	}
	for _, test := range []struct{ said, want int }{{0, 1}, {6, 1}, {7, 0}} {
		r.do(r.Met(0, gossip.Meeting{Theirs: 3, Kept: test.said}))
		if got := r.gets(0, gossip.Durable); len(got) != test.want {
			t.Errorf("told of %d, it is told %v more, want %d", test.said, got, test.want)
		}
	}
}

// A neighbour that takes no checkpoints, although it could, does not fill the disk.
func TestLogsAreBounded(t *testing.T) {
	r := rehearse(t, ring(), 20*32)
	r.meet(0, 0)
	r.meet(2, 0)
	for k := range 30 {
		r.told(2, gossip.Durable, k)
		r.round()
	}
	if base, next := r.log.Span(); base != next-20 {
		t.Errorf("exchanges %d to %d are kept, want the last 20", base, next)
	}
	if len(r.notes) != 1 || r.notes[0].Peer != 0 || !strings.Contains(r.notes[0].Text, "the journal is full") {
		t.Errorf("notes %+v, want one that names neighbour 0", r.notes)
	}
	r.do(r.Parted(0, errors.New("cable cut")))
	r.control = nil
	r.meet(0, 3)
	drops := func(c gossip.Control) bool { return c.Kind == gossip.DropLink && c.Peer == 0 }
	if !slices.ContainsFunc(r.control, drops) {
		t.Errorf("%+v, want no link to one that cannot be helped", r.control)
	}
}

// An early message shows that the two ends are out of step. The worker keeps an early request, and answers it when the
// message exists.
func TestEarlyFrames(t *testing.T) {
	r := rehearse(t, task{n: 3, dim: 8, rounds: 50, verified: true}, 0)
	r.meet(0, 0)
	request := gossip.Frame{From: 0, To: 1, Kind: gossip.Request, Round: 1}
	if err := r.Receive(request); !errors.Is(err, gossip.ErrEarly) {
		t.Errorf("a request of a later message: %v, want that it is early", err)
	}
	message := gossip.Frame{From: 0, To: 1, Round: 9, Payload: make([]byte, 8)}
	if err := r.Receive(message); !errors.Is(err, gossip.ErrEarly) {
		t.Errorf("a later message: %v, want that it is early", err)
	}
	r.advance()
	if got := r.control[len(r.control)-1]; got.Kind != gossip.DropLink || got.Peer != 0 {
		t.Errorf("%+v, want another link", got)
	}
}

// A round allocates no more in a worker that keeps its messages than in one that does not.
func TestKeepingAllocatesNothing(t *testing.T) {
	job := task{n: 3, dim: 1000, rounds: 1 << 30}
	slots := gossip.Slots{Every: 1, Hops: 1, Lead: 1}
	m := &silent{Worker: job.machine(t, 1, nil)}
	for i := range m.frames {
		m.frames[i] = gossip.Frame{From: 1, To: topology.Rank(2 * i), Payload: make([]byte, 4000)}
	}
	log := &sieve{}
	start := replay.Start{Self: 1, Rows: job.rows(t)[1], Slots: slots, Log: log, Most: 1 << 20}
	r := replay.New(gossip.NewLinked(m, 1, 0, 0), start)
	for _, peer := range []topology.Rank{0, 2} {
		if err := r.Met(peer, gossip.Meeting{}); err != nil {
			t.Fatal(err)
		}
		for place := range 3 {
			if err := r.Receive(gossip.Frame{From: peer, Kind: gossip.Place, Round: place}); err != nil {
				t.Fatal(err)
			}
		}
	}
	round := func() {
		m.speaks, m.round = true, log.next
		sent := len(r.Ready().Send)
		for more := true; more; {
			more = r.Ready().More
		}
		m.speaks = false
		if log.next > 5 && sent != 2 {
			t.Fatalf("%d frames are sent, want 2", sent)
		}
	}
	for range 10 {
		round()
	}
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A silent machine sends only the frames that the test gives it.
type silent struct {
	*gossip.Worker
	frames [2]gossip.Frame
	speaks bool
	round  int
}

func (m *silent) Ready() gossip.Ready {
	if !m.speaks {
		return gossip.Ready{Round: m.round}
	}
	m.frames[0].Round, m.frames[1].Round = m.round, m.round
	return gossip.Ready{Send: m.frames[:], Round: m.round}
}

// A sieve is a log that forgets.
type sieve struct{ next int }

func (s *sieve) Append(gossip.Frame) error { s.next++; return nil }
func (s *sieve) Span() (base, next int)    { return 0, s.next }
func (s *sieve) Trim(int, int64) error     { return nil }
func (s *sieve) Look(int, int) (gossip.Frame, error) {
	return gossip.Frame{}, nil
}
func (s *sieve) Find(gossip.FrameKind, int, int, topology.Rank) (gossip.Frame, bool, error) {
	return gossip.Frame{}, true, nil
}
