package node

import (
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
	w := task{n: 3, dim: dim, rounds: 50}.worker(t, 1)
	log, err := journal.Open(t.TempDir(), gossip.SlotsOf(w.Machine), 0)
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
