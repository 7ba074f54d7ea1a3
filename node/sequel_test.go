package node

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/journal"
	"gossiptrainer/internal/wire"
	"gossiptrainer/topology"
)

// A rehearsal is worker 1 of three with a journal, driven by hand.
type rehearsal struct {
	t *testing.T
	*script
	d *driver
}

// rehearse returns one in a ring, in full precision.
func rehearse(t *testing.T, dim int) *rehearsal {
	t.Helper()
	return rehearseWorker(t, task{n: 3, dim: dim, rounds: 50}.worker(t, 1))
}

func rehearseWorker(t *testing.T, w Worker) *rehearsal {
	t.Helper()
	log, err := journal.Open(t.TempDir(), w.slots(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	w.Checkpoints = &Checkpoints{Journal: log, Take: func(int) {}, Write: func(int) error { return nil }}
	r := &rehearsal{t: t, script: newScript()}
	r.d = newDriver(w, r.script)
	return r
}

func (r *rehearsal) event(e Event) {
	r.t.Helper()
	if err := r.d.handle(e); err != nil {
		r.t.Fatal(err)
	}
	if err := r.d.advance(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rehearsal) meet(peer topology.Rank, theirs int) {
	r.t.Helper()
	r.event(Event{Kind: LinkUp, Peer: peer, Met: gossip.Meeting{Theirs: theirs, Ours: r.d.place}})
}

func (r *rehearsal) place(peer topology.Rank, k int) {
	r.t.Helper()
	r.event(Event{Kind: FrameIn, Peer: peer, Frame: gossip.Frame{Kind: gossip.Place, Round: k}})
}

// round completes a round.
func (r *rehearsal) round() {
	r.t.Helper()
	k := r.d.round
	for _, from := range []topology.Rank{0, 2} {
		r.event(Event{Kind: FrameIn, Peer: from, Frame: gossip.Frame{From: from, To: 1, Round: k, Payload: make([]byte, 4*r.d.w.Parameters)}})
	}
	<-r.d.jobs
	if err := r.d.computed(outcome{k: k, g: make([]float32, r.d.w.Parameters)}); err != nil {
		r.t.Fatal(err)
	}
	if err := r.d.advance(); err != nil {
		r.t.Fatal(err)
	}
	if r.d.round != k+1 {
		r.t.Fatalf("round %d has not ended", k)
	}
}

// gets returns the rounds of the messages that a neighbour was sent since the last
// call for it.
func (r *rehearsal) gets(peer topology.Rank) (rounds []int) {
	r.sent = slices.DeleteFunc(r.sent, func(f gossip.Frame) bool {
		if f.To == peer && f.Kind == gossip.Data {
			rounds = append(rounds, f.Round)
			return true
		}
		return false
	})
	return rounds
}

func (r *rehearsal) expect(what string, peer topology.Rank, want ...int) {
	r.t.Helper()
	if got := r.gets(peer); !slices.Equal(got, want) {
		r.t.Errorf("%s: worker %d gets rounds %v, want %v", what, peer, got, want)
	}
}

func TestWhoComesBackGetsWhatItCanTakeAndNothingTwice(t *testing.T) {
	r := rehearse(t, 8)
	r.d.w.Parameters = 8
	if err := r.d.advance(); err != nil {
		t.Fatal(err)
	}
	r.meet(0, 0)
	r.meet(2, 0)
	r.expect("at the beginning", 0, 0)
	for range 5 {
		r.round()
	}
	r.expect("in step, but not yet sure of it", 0, 1)
	r.place(0, 1)
	r.place(0, 2)
	r.expect("in step", 0, 2, 3, 4, 5)
	r.round()
	r.expect("in step", 0, 6)

	r.event(Event{Kind: LinkDown, Peer: 0})
	r.meet(0, 2)
	r.expect("back at 2", 0, 2, 3)
	r.place(0, 3)
	r.expect("at 3", 0, 4)
	r.place(0, 3)
	r.expect("once more at 3", 0)
	r.place(0, 5)
	r.expect("at 5", 0, 5, 6)
	r.round()
	r.expect("a new round", 0)
	r.place(0, 7)
	r.expect("at 7", 0, 7)
	r.place(0, 8)
	r.round()
	r.expect("in step again", 0, 8)

	r.expect("who has said nothing since its link came up", 2, 0, 1)
}

// Who sends along a cycle hears nothing of the one behind it, and never sends more
// than that one can take, however far those in front let it run.
func TestAlongACycleNobodyIsSentMoreThanItCanTake(t *testing.T) {
	w := task{n: 4, dim: 12, rounds: 50, allReduce: true}.worker(t, 1)
	r := rehearseWorker(t, w)
	if err := r.d.advance(); err != nil {
		t.Fatal(err)
	}
	r.meet(0, 0)
	r.meet(2, 0)
	slots := w.slots()
	for k := range 5 {
		<-r.d.jobs
		if err := r.d.computed(outcome{k: k, g: make([]float32, 12)}); err != nil {
			t.Fatal(err)
		}
		for hop := range slots.Hops {
			r.event(Event{Kind: FrameIn, Peer: 0, Frame: gossip.Frame{From: 0, To: 1, Round: k, Hop: hop, Payload: make([]byte, 12)}})
		}
	}
	if r.d.place != 5*slots.Hops {
		t.Fatalf("at exchange %d, want %d", r.d.place, 5*slots.Hops)
	}
	sent := 0
	for theirs := range r.d.place - slots.Lead {
		r.event(Event{Kind: FrameIn, Peer: 2, Frame: gossip.Frame{Kind: gossip.Place, Round: theirs / slots.Hops, Hop: theirs % slots.Hops}})
		sent += len(r.gets(2))
		if want := min(theirs+slots.Lead+1, r.d.place); sent != want {
			t.Fatalf("worker 2 is at exchange %d and was sent %d, want %d", theirs, sent, want)
		}
	}
	told := 0
	for _, n := range r.told {
		if n.To != 0 {
			t.Errorf("worker %d, who sends nothing, was told of a place", n.To)
		}
		told++
	}
	if want := 5 * slots.Hops / (slots.Lead - 1); told != want {
		t.Errorf("the one in front was told of %d places, want %d", told, want)
	}
}

func TestPlacesAreToldUntilBothAreInStep(t *testing.T) {
	r := rehearse(t, 8)
	r.d.w.Parameters = 8
	if err := r.d.advance(); err != nil {
		t.Fatal(err)
	}
	r.meet(0, 4)
	r.meet(2, 0)
	for range 9 {
		r.round()
	}
	var heard [3][]int
	for _, n := range r.told {
		if n.Kind != gossip.Place {
			t.Errorf("told worker %d %v", n.To, n.Kind)
		}
		heard[n.To] = append(heard[n.To], n.Round)
	}
	if want := []int{1, 2, 3, 4, 5, 6}; !slices.Equal(heard[0], want) {
		t.Errorf("the one in front was told of rounds %v, want %v", heard[0], want)
	}
	if want := []int{1, 2}; !slices.Equal(heard[2], want) {
		t.Errorf("the one beside was told of rounds %v, want %v", heard[2], want)
	}
	r.expect("in front", 0, 4, 5)
}

func TestMessagesAreKeptUntilAllNeighboursAreSafe(t *testing.T) {
	r := rehearse(t, 8)
	r.d.w.Parameters = 8
	if err := r.d.advance(); err != nil {
		t.Fatal(err)
	}
	r.meet(0, 0)
	r.meet(2, 0)
	durable := func(peer topology.Rank, k int) {
		r.event(Event{Kind: FrameIn, Peer: peer, Frame: gossip.Frame{Kind: gossip.Durable, Round: k}})
	}
	for range 10 {
		r.round()
		if err := r.d.journal.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	durable(0, 6)
	if base := r.d.journal.Base(); base != 0 {
		t.Errorf("kept from %d on, want all: worker 2 has no checkpoint yet", base)
	}
	durable(2, 4)
	if base := r.d.journal.Base(); base != 4 {
		t.Errorf("kept from %d on, want 4", base)
	}
	// A neighbour that keeps no checkpoints needs what it may not have mixed.
	r.event(Event{Kind: LinkDown, Peer: 2})
	r.event(Event{Kind: LinkUp, Peer: 2, Met: gossip.Meeting{Theirs: 10, Ours: 10, Durable: undurable}})
	durable(0, 10)
	if base := r.d.journal.Base(); base != 9 {
		t.Errorf("kept from %d on, want 9", base)
	}
}

// A checkpoint that is safe between the words of a meeting and the link is told of.
func TestWhatBecameSafeWhileALinkWasMadeIsTold(t *testing.T) {
	r := rehearse(t, 8)
	r.d.keeper.enter(7)
	for _, test := range []struct{ said, want int }{{0, 1}, {6, 1}, {7, 0}} {
		r.told = nil
		r.event(Event{Kind: LinkUp, Peer: 0, Met: gossip.Meeting{Theirs: 3, Kept: test.said}})
		n := 0
		for _, notice := range r.told {
			if notice.Kind == gossip.Durable && notice.Round == 7 && notice.To == 0 {
				n++
			}
		}
		if n != test.want {
			t.Errorf("told of %d, it is told %d times more, want %d", test.said, n, test.want)
		}
	}
}

// A neighbour that takes no checkpoints, although it could, does not fill the disk.
func TestJournalsAreBounded(t *testing.T) {
	r := rehearse(t, 8)
	var log strings.Builder
	r.d.log = slog.New(slog.NewTextHandler(&log, nil))
	r.d.w.Parameters = 8
	r.d.keeper.growth = 5 * (wire.HeaderLen + 32) // so the journal has room for 20 messages
	r.d.keeper.Keep = 1
	if err := r.d.advance(); err != nil {
		t.Fatal(err)
	}
	r.meet(0, 0)
	r.meet(2, 0)
	for k := range 30 {
		r.event(Event{Kind: FrameIn, Peer: 2, Frame: gossip.Frame{Kind: gossip.Durable, Round: k}})
		r.round()
		if k%5 == 4 {
			if err := r.d.journal.Sync(); err != nil { // as at the checkpoints of this worker
				t.Fatal(err)
			}
		}
	}
	if base, next := r.d.journal.Base(), r.d.journal.Next(); base < next-25 || base > next-15 {
		t.Errorf("exchanges %d to %d are kept, want the last 20", base, next)
	}
	said := log.String()
	if n := strings.Count(said, "the journal is full"); n != 1 || !strings.Contains(said, "neighbour=0 ") {
		t.Errorf("%d warnings, want one that names neighbour 0:\n%s", n, said)
	}
}

// However rare its checkpoints are to be, a worker takes one before the journals of
// its neighbours, which grow as its own, are long.
func TestJournalsThatGrowMakeCheckpoints(t *testing.T) {
	r := rehearse(t, 8)
	r.d.w.Parameters = 8
	r.d.keeper.growth = 5 * (wire.HeaderLen + 32)
	var written []int
	if err := r.d.advance(); err != nil {
		t.Fatal(err)
	}
	for range 16 {
		r.round()
		if r.d.keeper.errand == writing {
			n := <-r.d.keeper.news()
			written = append(written, n.round)
			if err := r.d.kept(n); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := []int{5, 10, 15}; !slices.Equal(written, want) {
		t.Errorf("checkpoints before rounds %v, want %v", written, want)
	}
}

func TestWhoCannotBeHelpedIsRefused(t *testing.T) {
	none, log, deaf := reach{lead: 1}, reach{lead: 1, kept: true, oldest: 30}, reach{lead: 1, kept: true}
	tests := map[string]struct {
		reach        reach
		ours, theirs int
		want         string // "": welcome
	}{
		"in step":                     {none, 7, 8, ""},
		"behind, no log":              {none, 7, 5, "no log of messages is kept here: set checkpoint"},
		"in front, no log":            {none, 5, 7, "no log of messages is kept here: set checkpoint"},
		"behind, in the log":          {log, 40, 30, ""},
		"behind, before the log":      {log, 40, 29, "the log of worker 3 begins at exchange 30"},
		"in front":                    {log, 30, 40, ""},
		"in step, before the log":     {log, 30, 29, "the log of worker 3 begins at exchange 30"},
		"behind, and is told nothing": {deaf, 40, 2, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			mine := hello{Rank: 3, Round: test.ours}
			no := mine.compareRank(hello{Rank: 4, Round: test.theirs}, 4, test.reach)
			if (no == nil) != (test.want == "") || no != nil && (no.Reason != LostState || !no.Permanent() || !strings.Contains(no.Detail, test.want)) {
				t.Errorf("%v, want %q", no, test.want)
			}
		})
	}
}

// A round of a worker that keeps what it sends allocates no more than one of a
// worker that does not.
func TestKeepingAllocatesNothing(t *testing.T) {
	r := rehearse(t, 1000)
	f := gossip.Frame{Kind: gossip.Data, From: 1, Payload: make([]byte, 4000)}
	for i := range r.d.peers {
		r.d.peers[i].up = true
	}
	frames := []gossip.Frame{f, f}
	n := testing.AllocsPerRun(100, func() {
		for i := range frames {
			frames[i].To, frames[i].Round = topology.Rank(2*i), r.d.journal.Next()
		}
		if sent := r.d.direct(frames); len(sent) != 2 {
			t.Fatalf("%d frames are sent, want 2", len(sent))
		}
		if _, err := r.d.follow(gossip.Ready{Send: frames, Round: frames[0].Round}, true); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
