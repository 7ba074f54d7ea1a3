package replay_test

import (
	"slices"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/topology"
)

// A tight log is one without room.
type tight struct {
	*replay.Memory
	full bool
}

func (l *tight) Crowded() bool { return l.full }

// A worker whose log has little room asks each neighbour for a newer checkpoint once, and again after the next one.
func TestACrowdedLogAsksForCheckpoints(t *testing.T) {
	job := ring()
	m := job.machine(t, 1, nil)
	log := &tight{Memory: replay.NewMemory(m.Slots(), 0)}
	r := &rehearsal{t: t, task: job, slots: m.Slots(), log: log.Memory}
	r.Replay = replay.New(gossip.NewLinked(m, 1, 0, 0), replay.Start{
		Self: 1, Rows: job.rows(t)[1], Slots: m.Slots(), Log: log,
	})
	r.advance()
	r.meet(0, 0)
	r.meet(2, 0)
	asked := func() (all []topology.Rank) {
		for _, f := range r.sent {
			if f.Kind == gossip.Durable && f.Note == gossip.Pressing {
				all = append(all, f.To)
			}
		}
		r.sent = nil
		return all
	}
	for range 5 {
		r.round()
	}
	if got := asked(); len(got) > 0 {
		t.Errorf("with room it asks %v", got)
	}
	log.full = true
	for range 5 {
		r.round()
	}
	if got := asked(); !slices.Equal(got, []topology.Rank{0, 2}) {
		t.Errorf("it asks %v, want each neighbour once", got)
	}
	r.told(2, gossip.Durable, 6)
	r.round()
	if got := asked(); !slices.Equal(got, []topology.Rank{2}) {
		t.Errorf("after a checkpoint of worker 2 it asks %v", got)
	}
}

// A neighbour's wish reaches the driver, and an ordinary word about a checkpoint does not.
func TestTheWishForACheckpointIsPassedOn(t *testing.T) {
	r := rehearse(t, ring(), 0)
	r.meet(0, 0)
	wishes := func(c gossip.Control) bool { return c.Kind == gossip.SaveState && c.Peer == 0 }
	r.told(0, gossip.Durable, 0)
	if slices.ContainsFunc(r.control, wishes) {
		t.Error("a word about a checkpoint is taken for a wish")
	}
	r.do(r.Receive(gossip.Frame{From: 0, To: 1, Kind: gossip.Durable, Note: gossip.Pressing}))
	if !slices.ContainsFunc(r.control, wishes) {
		t.Errorf("%+v, want a checkpoint for worker 0", r.control)
	}
}
