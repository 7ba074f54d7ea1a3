package peer_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	"gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/topology"
)

const rounds = 2

var errLost = errors.New("cable cut")

// A stage is worker 1 of a ring of three, driven by hand.
type stage struct {
	t *testing.T
	*peer.Peer
	ready gossip.Ready
	sent  []gossip.Frame
	notes []gossip.Note
	at    []float32 // point of the outstanding gradient, nil if there is none
}

func (s *stage) row() topology.Row { return ringOf(s.t).Rows(0)[1] }

func ringOf(t *testing.T) *topology.Graph {
	t.Helper()
	g, err := topology.New(topology.Spec{Kind: topology.Ring, N: 3, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func play(t *testing.T, change func(m gossip.Machine, s *peer.Start)) *stage {
	t.Helper()
	st := &stage{t: t}
	alg := &algos.DPSGD{X: make([]float32, 4), Alpha: func(int) float32 { return 0.05 }, Codec: algos.Full{}}
	m, err := gossip.New(1, st.row(), alg, rounds)
	if err != nil {
		t.Fatal(err)
	}
	start := peer.Start{Self: 1, Rows: st.row(), Durable: gossip.Undurable}
	start.Judge.Name = func(error) string { return "any" }
	if change != nil {
		change(m, &start)
	}
	if st.Peer, err = peer.New(m, start); err != nil {
		t.Fatal(err)
	}
	st.do(nil)
	return st
}

func (s *stage) do(err error) {
	s.t.Helper()
	if err == nil {
		err = s.advance()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) advance() error {
	for more := true; more; more = s.ready.More {
		s.ready = s.Ready()
		s.sent, s.notes = append(s.sent, s.ready.Send...), append(s.notes, s.ready.Notes...)
		if s.ready.Compute {
			s.at = s.ready.At
		}
		if s.ready.Failed != nil {
			return s.ready.Failed
		}
	}
	return nil
}

// tick lets time pass to now, second by second.
func (s *stage) tick(from, now time.Duration) error {
	for at := from; at <= now; at += time.Second {
		if err := s.Tick(at); err != nil {
			return err
		}
		if err := s.advance(); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) meet(peers ...topology.Rank) {
	s.t.Helper()
	for _, p := range peers {
		s.do(s.Met(p, gossip.Meeting{Durable: gossip.Undurable}))
	}
}

// train does all rounds.
func (s *stage) train() {
	s.t.Helper()
	for k := range rounds {
		for _, from := range []topology.Rank{0, 2} {
			s.do(s.Receive(gossip.Frame{From: from, To: 1, Round: k, Payload: make([]byte, 16)}))
		}
		s.do(s.Gradient(make([]float32, len(s.at)), 0, 0))
	}
	if !s.Done() {
		s.t.Fatal("not done")
	}
}

func (s *stage) byes() (to []topology.Rank) {
	for _, f := range s.sent {
		if f.Kind == gossip.Bye {
			to = append(to, f.To)
		}
	}
	return to
}

func (s *stage) noted(kind gossip.NoteKind) (notes []gossip.Note) {
	for _, n := range s.notes {
		if n.Kind == kind {
			notes = append(notes, n)
		}
	}
	return notes
}

// The worker says bye on each link once its last state is safe. It leaves when all neighbours have said bye.
func TestByeIsSaidWhenTheLastStateIsSafe(t *testing.T) {
	s := play(t, nil)
	s.meet(0, 2)
	s.Settle() // too early: it is not done
	s.train()
	if got := s.byes(); len(got) > 0 {
		t.Fatalf("bye to %v before the last state is safe", got)
	}
	s.Settle()
	s.do(nil)
	s.do(s.Parted(2, errLost))
	s.meet(2)
	if got := s.byes(); !slices.Equal(got, []topology.Rank{0, 2, 2}) {
		t.Errorf("bye to %v, want each neighbour, and worker 2 again on the new link", got)
	}
	s.do(s.Parted(0, gossip.ErrBye))
	if s.Over() {
		t.Error("over, although worker 2 has not said bye")
	}
	s.do(s.Parted(2, gossip.ErrBye))
	if !s.Over() || s.Unneeded() {
		t.Errorf("over: %v, its log unneeded: %v; want that it is over and has none", s.Over(), s.Unneeded())
	}
}

// A neighbour that lacks messages gets the bye after them.
func TestByeFollowsOwedFrames(t *testing.T) {
	s := play(t, func(m gossip.Machine, s *peer.Start) {
		slots := gossip.SlotsOf(m)
		s.Durable = 0
		s.Replay = &replay.Start{Self: 1, Rows: s.Rows, Slots: slots, Log: replay.NewMemory(slots, 0)}
	})
	for _, p := range []topology.Rank{0, 2} {
		s.do(s.Met(p, gossip.Meeting{}))
	}
	s.train()
	s.Settle()
	s.do(nil)
	last := func() gossip.FrameKind { return s.sent[len(s.sent)-1].Kind }
	s.do(s.Receive(gossip.Frame{From: 0, To: 1, Kind: gossip.Place, Round: 1}))
	if got := s.byes(); !slices.Equal(got, []topology.Rank{0, 2}) || last() != gossip.Bye {
		t.Errorf("bye to %v, the last frame is of kind %v; want bye after the messages", got, last())
	}
	s.do(s.Receive(gossip.Frame{From: 0, To: 1, Kind: gossip.Durable, Round: 2}))
	s.do(s.Receive(gossip.Frame{From: 2, To: 1, Kind: gossip.Durable, Round: 2}))
	if !s.Unneeded() {
		t.Error("the log is needed, although no worker can come back to it")
	}
}

func TestALostNeighbourEndsTheWorkerUnderFail(t *testing.T) {
	for name, test := range map[string]struct {
		lost peer.Policy
		back bool // after 5 s
		ends bool
	}{
		"wait":                   {peer.Wait, false, false},
		"fail":                   {peer.Fail, false, true},
		"fail, but it came back": {peer.Fail, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, func(_ gossip.Machine, s *peer.Start) { s.Lost = test.lost })
			s.meet(0, 2)
			s.do(s.Parted(2, errLost))
			err := s.tick(0, 5*time.Second)
			if test.back {
				s.meet(2)
			}
			err = errors.Join(err, s.tick(6*time.Second, 9*time.Second))
			if err != nil {
				t.Fatalf("before its time: %v", err)
			}
			err = s.tick(10*time.Second, time.Minute)
			lost, ok := errors.AsType[*peer.LostError](err)
			if ok != test.ends || ok && lost.Peer != 2 {
				t.Errorf("error %v, want that worker 2 is lost: %v", err, test.ends)
			}
		})
	}
}

func TestTheMissingAreNamedEveryTenSeconds(t *testing.T) {
	s := play(t, nil)
	s.meet(0)
	if err := s.tick(0, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if got := s.noted(gossip.Awaited); len(got) > 0 {
		t.Fatalf("notes while it computes: %+v", got)
	}
	s.do(s.Gradient(make([]float32, 4), 0, 0))
	if err := s.tick(21*time.Second, 45*time.Second); err != nil {
		t.Fatal(err)
	}
	got := s.noted(gossip.Awaited)
	if len(got) != 2 || !slices.Equal(got[0].Peers, []topology.Rank{0, 2}) || got[0].For != 10*time.Second {
		t.Errorf("notes %+v, want two of both neighbours", got)
	}
	s.do(s.Receive(gossip.Frame{From: 0, To: 1, Payload: make([]byte, 16)}))
	if err := s.tick(46*time.Second, 56*time.Second); err != nil {
		t.Fatal(err)
	}
	if got = s.noted(gossip.Awaited); len(got) != 3 || !slices.Equal(got[2].Peers, []topology.Rank{2}) {
		t.Errorf("notes %+v, want one more of worker 2, 10 s after the message", got)
	}
}

// A worker that is done does not wait for the bye of a neighbour that keeps no
// checkpoints, or is known to have ended.
func TestFarewells(t *testing.T) {
	for name, test := range map[string]struct {
		durable int
		through bool
		over    bool
	}{
		"without checkpoints":          {gossip.Undurable, false, true},
		"it may come back":             {0, false, false},
		"it is known to be through":    {0, true, true},
		"through, and no checkpoints":  {gossip.Undurable, true, true},
		"with a checkpoint of round 1": {1, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, func(_ gossip.Machine, s *peer.Start) {
				s.Durable, s.Through = test.durable, func(topology.Rank) bool { return test.through }
			})
			s.meet(0, 2)
			s.train()
			s.do(s.Parted(0, errLost))
			s.do(s.Parted(2, errLost))
			if err := s.tick(0, 4*time.Second); err != nil || s.Over() {
				t.Fatalf("over after 4 s: %v, %v", s.Over(), err)
			}
			if err := s.tick(5*time.Second, 9*time.Second); err != nil || s.Over() != test.over {
				t.Errorf("over: %v, error %v, want over: %v", s.Over(), err, test.over)
			}
		})
	}
}

// Without rounds a worker ends without the last word of neighbours that have ended.
func TestAPairEndsWithoutAWord(t *testing.T) {
	row := ringOf(t).Rows(0)[1]
	m, err := gossip.NewPair(1, row, &algos.ADPSGD{
		X: make([]float32, 4), Alpha: func(int) float32 { return 0.05 }, Weight: 0.5,
		Codec: func(topology.Rank) algos.Codec { return algos.Full{} },
	}, gossip.PairPlan{Workers: 3, Rounds: 5, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	start := peer.Start{
		Self: 1, Rows: row, Durable: gossip.Undurable, Asynchronous: true,
		Through: func(topology.Rank) bool { return true },
	}
	p, err := peer.New(m, start)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, Peer: p}
	for _, rank := range []topology.Rank{0, 2} {
		s.do(s.Parted(rank, errLost))
	}
	s.do(s.Gradient(make([]float32, 4), 0, 0))
	s.Hold()
	if err := s.tick(0, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if got := s.noted(gossip.Trouble); len(got) != 2 || !s.Over() {
		t.Errorf("over: %v, notes %+v, want an end without both", s.Over(), got)
	}
}

// Under Reweight notes record the edges, and the worker does not need neighbours that are gone. New refuses a machine
// that cannot go on without them.
func TestReweight(t *testing.T) {
	s := play(t, func(_ gossip.Machine, s *peer.Start) {
		s.Lost = peer.Reweight
		s.Elastic = &elastic.Start{Self: 1, Row: s.Rows.At(0), Rounds: rounds}
	})
	if got := s.noted(gossip.EdgeIsSet); len(got) != 2 {
		t.Errorf("edges at the start: %+v, want two", got)
	}
	s.meet(0, 2)
	s.do(s.Gradient(make([]float32, 4), 0, 0))
	s.do(s.Parted(2, errLost))
	if err := s.tick(0, 3*time.Second); err != nil {
		t.Fatal(err)
	}
	edges := s.noted(gossip.EdgeIsSet)
	if last := edges[len(edges)-1]; len(edges) != 3 || last.Peer != 2 || last.Weight != 0 {
		t.Errorf("edges: %+v, want that to worker 2 off", edges)
	}
	if _, answer, err := s.Host(2, 7); err != nil || answer != elastic.Over {
		t.Errorf("a place for worker 2: %v, %v; want that no exchange is left", answer, err)
	}
	start := peer.Start{Self: 1, Lost: peer.Reweight, Elastic: &elastic.Start{Self: 1}}
	if _, err := peer.New(struct{ gossip.Machine }{}, start); err == nil {
		t.Error("a machine that cannot go on without neighbours is accepted")
	}
}

// A run that began with several workers expects to meet them. A worker that meets none of its neighbours does not train
// by itself, and one that has met a neighbour goes on without those that it loses.
func TestAWorkerThatMeetsNoNeighbourFails(t *testing.T) {
	const meeting = 3 * time.Minute // longer than neighbours may take to meet
	for name, test := range map[string]struct {
		met   []topology.Rank
		fails bool
	}{"none": {nil, true}, "one": {[]topology.Rank{2}, false}, "both": {[]topology.Rank{0, 2}, false}} {
		s := play(t, func(_ gossip.Machine, s *peer.Start) {
			s.Lost = peer.Reweight
			s.Elastic = &elastic.Start{Self: 1, Row: s.Rows.At(0), Rounds: rounds}
		})
		s.meet(test.met...)
		s.do(s.Gradient(make([]float32, 4), 0, 0))
		for _, rank := range test.met {
			s.do(s.Parted(rank, errLost))
		}
		err := s.tick(0, meeting)
		unmet, ok := errors.AsType[*elastic.UnmetError](err)
		if ok != test.fails || !ok && err != nil || ok && unmet.Worker != 1 {
			t.Errorf("met %s: error %v, want a failure: %v", name, err, test.fails)
		}
	}
}
