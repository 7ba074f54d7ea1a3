package replay_test

import (
	"errors"
	"slices"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/topology"
)

// A stub is a machine that asks worker 0 for a repair of round 3, and has no repair for others.
type stub struct {
	*gossip.Worker
	round int
	asks  bool
}

func (s *stub) Ready() gossip.Ready {
	r := gossip.Ready{Round: s.round, Waiting: []topology.Rank{0}}
	if s.asks {
		s.asks = false
		r.Send = []gossip.Frame{{From: 1, To: 0, Kind: gossip.Request, Round: s.round}}
	}
	return r
}

func (s *stub) Receive(f gossip.Frame) error {
	if f.Kind == gossip.Request {
		return gossip.ErrStale
	}
	return nil
}

func stubbed(t *testing.T, s *stub) *rehearsal {
	t.Helper()
	job := task{n: 3, dim: 8, rounds: 50, verified: true}
	s.Worker = job.machine(t, 1, nil)
	r := &rehearsal{t: t, task: job, slots: s.Slots(), log: replay.NewMemory(s.Slots(), s.round)}
	r.Replay = replay.New(gossip.NewLinked(s, 1, s.round, 0), replay.Start{
		Self: 1, Rows: job.rows(t)[1], Slots: s.Slots(), Log: r.log, Repairs: true,
	})
	r.advance()
	return r
}

// A neighbour that asks for a repair which is lost hears that, and does not wait for ever.
func TestAnAskerHearsThatARepairIsMissing(t *testing.T) {
	r := stubbed(t, &stub{round: 9})
	r.meet(2, 3)
	err := r.Receive(gossip.Frame{From: 2, To: 1, Kind: gossip.Request, Round: 3})
	r.advance()
	if got := r.gets(2, gossip.Missing); !errors.Is(err, gossip.ErrStale) || !slices.Equal(got, []int{3}) {
		t.Errorf("error %v, and the asker hears that rounds %v are missing, want 3", err, got)
	}
}

// A worker ends only if it waits for the repair that a neighbour no longer has, and has asked for it.
func TestAMissingRepairEndsOnlyTheWorkerThatNeedsIt(t *testing.T) {
	for name, test := range map[string]struct {
		asks  bool
		from  topology.Rank
		round int
		ends  bool
	}{
		"it has asked":              {true, 0, 3, true},
		"it has not asked":          {false, 0, 3, false},
		"another round":             {true, 0, 2, false},
		"a round of the future":     {true, 0, 1 << 30, false},
		"another neighbour says it": {true, 2, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stub{round: 3}
			r := stubbed(t, s)
			r.meet(0, 9)
			r.meet(2, 9)
			s.asks = test.asks
			r.advance()
			err := r.Receive(gossip.Frame{From: test.from, To: 1, Kind: gossip.Missing, Round: test.round})
			lost, ends := errors.AsType[*replay.RepeatError](err)
			if ends != test.ends || ends && lost.Peer != 0 || !ends && !errors.Is(err, gossip.ErrUnasked) {
				t.Errorf("error %v, want an end: %v", err, test.ends)
			}
		})
	}
}

// A worker that has not come back has no lost repairs. A neighbour that names one lies, wherever it claims to be.
func TestAMissingRepairEndsNoWorkerBeforeItsFirstDeath(t *testing.T) {
	for _, theirs := range []int{0, 1, 9} {
		s := &stub{}
		r := stubbed(t, s)
		r.meet(0, theirs)
		s.asks = true
		r.advance()
		if err := r.Receive(gossip.Frame{From: 0, To: 1, Kind: gossip.Missing}); !errors.Is(err, gossip.ErrUnasked) {
			t.Errorf("from place %d: error %v, want that the frame is refused", theirs, err)
		}
	}
}
