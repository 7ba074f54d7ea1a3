package judge

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

var errGarbled = fmt.Errorf("garbled: %w", gossip.ErrForged)

func name(err error) string {
	switch {
	case errors.Is(err, gossip.ErrNoSuchHop):
		return "no such hop"
	case errors.Is(err, errGarbled):
		return "checksum"
	}
	return "other"
}

// A trial is worker 1 of a ring of three.
type trial struct {
	t *testing.T
	*Judge
	control []gossip.Control
	notes   []gossip.Note
	spent   int
}

func try(t *testing.T, rules Rules) *trial {
	t.Helper()
	g, err := topology.New(topology.Spec{Kind: topology.Ring, N: 3, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	alg := &algos.DPSGD{X: make([]float32, 4), Alpha: func(int) float32 { return 0.05 }, Codec: algos.Full{}}
	m, err := gossip.New(1, g.Rows(0)[1], alg, 5)
	if err != nil {
		t.Fatal(err)
	}
	rules.Self, rules.Name = 1, name
	tr := &trial{t: t, Judge: New(gossip.NewLinked(m, 1, 0, gossip.Undurable), rules)}
	for _, peer := range []topology.Rank{0, 2} {
		tr.do(tr.Met(peer, gossip.Meeting{}))
	}
	return tr
}

func (tr *trial) do(err error) {
	tr.t.Helper()
	if err != nil {
		tr.t.Fatal(err)
	}
	r := tr.Ready()
	if r.Failed != nil {
		tr.t.Fatal(r.Failed)
	}
	tr.control, tr.notes = append(tr.control, r.Control...), append(tr.notes, r.Notes...)
	tr.spent += len(r.Spent)
}

func (tr *trial) count(kind gossip.NoteKind, peer topology.Rank) (n int) {
	for _, note := range tr.notes {
		if note.Kind == kind && note.Peer == peer {
			n++
		}
	}
	return n
}

// nonsense is a frame that no worker sends.
func nonsense(from topology.Rank) gossip.Frame { return gossip.Frame{From: from, To: 1, Hop: 7} }

func message(from topology.Rank, size int) gossip.Frame {
	return gossip.Frame{From: from, To: 1, Payload: make([]byte, size)}
}

func TestTooManyOffencesEndTheRun(t *testing.T) {
	tr := try(t, Rules{Tolerance: 3, Sentence: StopRun})
	tr.do(tr.Receive(nonsense(2)))
	tr.do(tr.Parted(2, errGarbled))
	tr.do(tr.Receive(nonsense(0)))
	err := tr.Receive(nonsense(2))
	cut, ok := errors.AsType[*CutOffError](err)
	const want = "worker 1 cut off worker 2 in round 0 after 3 offences (1 checksum, 2 no such hop), the last: "
	if !ok || cut.Peer != 2 || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
	tr.do(nil)
	if tr.count(gossip.Blamed, 2) != 3 || tr.count(gossip.Unused, 2) != 2 || tr.count(gossip.Blamed, 0) != 1 {
		t.Errorf("notes: %+v", tr.notes)
	}
}

func TestANeighbourThatIsCutOffIsHeardAgainAsAnotherProcess(t *testing.T) {
	tr := try(t, Rules{})
	for range tolerated {
		tr.do(tr.Receive(nonsense(0)))
	}
	once := len(tr.control) == 1 && tr.count(gossip.CutOff, 0) == 1
	if !once || tr.control[0].Kind != gossip.BanPeer || tr.control[0].Peer != 0 {
		t.Errorf("controls %+v, notes %+v, want worker 0 cut off once", tr.control, tr.notes)
	}
	const want = "worker 1 cut off worker 0 in round 0 after 8 offences (8 no such hop)"
	if why := tr.control[0].Why.Error(); !strings.Contains(why, want) {
		t.Errorf("cut off because %q, want %q", why, want)
	}
	for _, heard := range []bool{false, true} {
		spent := tr.spent
		tr.do(tr.Receive(message(0, 16)))
		tr.do(tr.Receive(message(0, 16)))
		if got := tr.count(gossip.Unused, 0) == tolerated+1; got != heard {
			t.Errorf("heard %v, want %v", got, heard)
		}
		if got := tr.spent - spent; !heard && got != 2 || heard && got != 1 {
			t.Errorf("%d payloads came back", got)
		}
		tr.do(tr.Met(0, gossip.Meeting{}))
	}
}

// A link begins with frames that its receiver has already; a flood of them is a replay attack.
func TestReplaysBeyondANewLinksAreOffences(t *testing.T) {
	for _, pieces := range []int{0, 3} {
		tr := try(t, Rules{Pieces: pieces})
		for range 1 + max(1, pieces)*leftOver + tolerated - 1 {
			tr.do(tr.Receive(message(2, 16)))
		}
		if len(tr.control) > 0 {
			t.Fatalf("%d pieces: cut off before its time", pieces)
		}
		tr.do(tr.Receive(message(2, 16)))
		if len(tr.control) != 1 || tr.control[0].Peer != 2 {
			t.Errorf("%d pieces: controls %+v after a flood of old frames, want worker 2 banned", pieces, tr.control)
		}
	}
}

func TestOffencesAreForgotten(t *testing.T) {
	var a account
	for i := range 3 * tolerated {
		if !a.enter(gossip.ErrNoSuchHop, "x", leftOver) || a.offences != 1 {
			t.Fatalf("offence %d counts as %d", i, a.offences)
		}
		for range forgiven {
			a.use()
		}
	}
}

// An unusable message costs its sender the link, and has no effect on other neighbours.
func TestAnUnusableMessageDropsItsLinkAlone(t *testing.T) {
	tr := try(t, Rules{})
	tr.do(tr.Receive(message(0, 3)))
	tr.do(tr.Receive(message(2, 16)))
	tr.do(tr.Gradient(make([]float32, 4), 0, 0))
	drops := slices.DeleteFunc(tr.control, func(c gossip.Control) bool { return c.Kind != gossip.DropLink })
	if len(drops) != 1 || drops[0].Peer != 0 || tr.count(gossip.Unusable, 0) != 1 || tr.count(gossip.Blamed, 0) != 1 {
		t.Errorf("controls %+v, notes %+v, want the link to worker 0 dropped", drops, tr.notes)
	}
}

// A sick layer fails with a given error.
type sick struct {
	gossip.Layer
	err error
}

func (s *sick) Tick(time.Duration) error { return s.err }

func (s *sick) Ready() gossip.Ready {
	r := s.Layer.Ready()
	r.Failed = s.err
	return r
}

// The judge judges several bad messages one by one; any other error ends the worker unchanged.
func TestErrorsAreToldApart(t *testing.T) {
	tr := try(t, Rules{})
	s := &sick{Layer: tr.Judge.Layer}
	tr.Judge.Layer = s
	bad := func(from topology.Rank) error { return &algos.MessageError{From: from, Err: errors.New("bad")} }
	s.err = errors.Join(bad(0), bad(2))
	if err := tr.Tick(time.Second); err != nil {
		t.Errorf("bad messages end the worker: %v", err)
	}
	tr.do(nil)
	if tr.count(gossip.Unusable, 0) != 2 || tr.count(gossip.Unusable, 2) != 2 {
		t.Errorf("notes %+v, want two of either neighbour", tr.notes)
	}
	own := errors.New("its own arithmetic")
	s.err = errors.Join(bad(0), own)
	if err := tr.Tick(time.Second); !errors.Is(err, own) {
		t.Errorf("error %v, want %v", err, own)
	}
	if got := tr.Ready().Failed; !errors.Is(got, own) {
		t.Errorf("failed with %v, want %v", got, own)
	}
}
