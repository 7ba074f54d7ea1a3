package node

import (
	"slices"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/journal"
	"gossiptrainer/internal/wire"
	"gossiptrainer/node/link"
	"gossiptrainer/topology"
)

// A rehearsal drives worker 1 of three, with a journal, step by step.
type rehearsal struct {
	t *testing.T
	*script
	d *driver
}

// rehearse returns a rehearsal in a ring, in full precision.
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
	r.d = driverOf(t, w, r.script)
	return r
}

func (r *rehearsal) event(e link.Event) {
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
		r.event(link.Event{Kind: link.FrameIn, Peer: from,
			Frame: gossip.Frame{From: from, To: 1, Round: k, Payload: make([]byte, 4*r.d.w.Parameters)}})
	}
	<-r.d.oracle.jobs
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

// A worker with rare checkpoints takes one early, before its neighbours' journals, which grow as its
// own does, become long.
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
			n := <-r.d.keeper.written
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

// A round of a worker with a journal allocates no more than a round of a worker without one.
