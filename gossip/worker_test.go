package gossip_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// A script is an algorithm that records its calls and fails in the calls that the test names.
type script struct {
	plan  algos.Plan
	calls []string
	fails map[string]error // by call, once
	x     [1]float32
}

func (a *script) Plan() algos.Plan  { return a.plan }
func (a *script) Params() []float32 { return a.x[:] }
func (a *script) ExtraMemory() int  { return 12 }

func (a *script) Descend(k int, g []float32) error {
	return a.note("descend %d by %v", k, g[0])
}

func (a *script) Send(k, hop int, dst []byte) ([]byte, error) {
	return fmt.Appendf(dst, "%d.%d", k, hop), a.note("send %d.%d", k, hop)
}

func (a *script) Mix(k, hop int, in []algos.Message) (algos.Mixed, error) {
	var said []string
	for _, m := range in {
		said = append(said, fmt.Sprintf("%d:%s", m.From, m.Payload))
	}
	err := a.note("mix %d.%d %s", k, hop, strings.Join(said, " "))
	return algos.Mixed{Gap: float32(k), Moved: hop}, err
}

func (a *script) note(format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	a.calls = append(a.calls, call)
	err := a.fails[call]
	delete(a.fails, call)
	return err
}

var (
	overlapping = algos.Plan{Hops: 1, Overlap: true, Lead: 1}
	twoHops     = algos.Plan{Hops: 2, Lead: 1}
	// Worker 5 exchanges with 2, 4 and 9.
	middle = topology.Row{
		Self: 0.25,
		In:   []topology.Edge{{Peer: 2, Weight: 0.25}, {Peer: 4, Weight: 0.25}, {Peer: 9, Weight: 0.25}},
		Out:  []topology.Rank{2, 4, 9},
	}
	// Worker 5 exchanges with 2.
	pair = topology.Row{Self: 0.5, In: []topology.Edge{{Peer: 2, Weight: 0.5}}, Out: []topology.Rank{2}}
)

func newWorker(t *testing.T, row topology.Row, alg gossip.Algorithm, rounds int) *gossip.Worker {
	t.Helper()
	w, err := gossip.New(5, row, alg, rounds)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func frame(from topology.Rank, round, hop int, payload string) gossip.Frame {
	return gossip.Frame{From: from, To: 5, Round: round, Hop: hop, Payload: []byte(payload)}
}

// gradient answers the request that must be there with the number v.
func gradient(t *testing.T, w *gossip.Worker, v float32) gossip.Ready {
	t.Helper()
	r := w.Ready()
	if !r.Compute {
		t.Fatalf("no gradient asked for: %+v", r)
	}
	if err := w.Gradient([]float32{v}, 0, 0); err != nil {
		t.Fatal(err)
	}
	return r
}

func receive(t *testing.T, w *gossip.Worker, frames ...gossip.Frame) {
	t.Helper()
	for _, f := range frames {
		if err := w.Receive(f); err != nil {
			t.Fatal(err)
		}
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestOverlappingRoundSendsBeforeTheGradient(t *testing.T) {
	alg := &script{plan: overlapping}
	w := newWorker(t, pair, alg, 2)
	r := w.Ready()
	equal(t, "frames", r.Send, []gossip.Frame{{From: 5, To: 2, Payload: []byte("0.0")}})
	if !r.Compute || r.Round != 0 || &r.At[0] != &alg.x[0] {
		t.Errorf("gradient of round 0 at the model not asked for: %+v", r)
	}
	receive(t, w, frame(2, 0, 0, "a"))
	equal(t, "calls before the gradient", alg.calls, []string{"send 0.0"})
	if err := w.Gradient([]float32{7}, 0, 0); err != nil {
		t.Fatal(err)
	}
	gradient(t, w, 8)
	receive(t, w, frame(2, 1, 0, "b"))
	equal(t, "calls", alg.calls, []string{
		"send 0.0", "mix 0.0 2:a", "descend 0 by 7",
		"send 1.0", "mix 1.0 2:b", "descend 1 by 8",
	})
	if r := w.Ready(); !r.Done || r.Compute || len(r.Send) != 0 || r.Round != 2 {
		t.Errorf("after two rounds of two: %+v", r)
	}
	equal(t, "mixed", w.Mixed(), algos.Mixed{Gap: 1})
}

func TestRoundOfManyHopsDescendsFirst(t *testing.T) {
	alg := &script{plan: twoHops}
	w := newWorker(t, pair, alg, 1)
	if r := gradient(t, w, 7); len(r.Send) != 0 {
		t.Errorf("sent before the gradient: %v", r.Send)
	}
	receive(t, w, frame(2, 0, 0, "a"), frame(2, 0, 1, "b"))
	equal(t, "calls", alg.calls, []string{"descend 0 by 7", "send 0.0", "mix 0.0 2:a", "send 0.1", "mix 0.1 2:b"})
	equal(t, "frames", w.Ready().Send, []gossip.Frame{
		{From: 5, To: 2, Payload: []byte("0.0")}, {From: 5, To: 2, Hop: 1, Payload: []byte("0.1")},
	})
}

func TestWorkersThatExchangeNothing(t *testing.T) {
	tests := []struct {
		name string
		row  topology.Row
		plan algos.Plan
		want []string
	}{
		{"no hops", topology.Row{Self: 1}, algos.Plan{Lead: 1}, []string{"descend 0 by 7", "descend 1 by 8"}},
		{"no hops, overlapping", topology.Row{Self: 1}, algos.Plan{Lead: 1, Overlap: true},
			[]string{"descend 0 by 7", "descend 1 by 8"}},
		{"no neighbours", topology.Row{Self: 1}, overlapping,
			[]string{"send 0.0", "mix 0.0 ", "descend 0 by 7", "send 1.0", "mix 1.0 ", "descend 1 by 8"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			alg := &script{plan: test.plan}
			w := newWorker(t, test.row, alg, 2)
			gradient(t, w, 7)
			gradient(t, w, 8)
			equal(t, "calls", alg.calls, test.want)
			if r := w.Ready(); !r.Done || len(r.Send) != 0 {
				t.Errorf("not done, or something to send: %+v", r)
			}
		})
	}
}

func TestReadyNamesWorkOnce(t *testing.T) {
	w := newWorker(t, pair, &script{plan: overlapping}, 2)
	w.Ready()
	if r := w.Ready(); r.Compute || len(r.Send) != 0 {
		t.Errorf("named again: %+v", r)
	}
	if err := w.Gradient([]float32{7}, 0, 0); err != nil {
		t.Fatal(err)
	}
	receive(t, w, frame(2, 0, 0, "a"))
	if r := w.Ready(); !r.Compute || len(r.Send) != 1 || len(r.Spent) != 1 {
		t.Fatalf("after a round: %+v", r)
	}
	if r := w.Ready(); r.Compute || len(r.Send) != 0 || len(r.Spent) != 0 {
		t.Errorf("named again: %+v", r)
	}
}

func TestZeroRoundsAreDoneAtOnce(t *testing.T) {
	alg := &script{plan: overlapping}
	w := newWorker(t, pair, alg, 0)
	if r := w.Ready(); !r.Done || r.Compute || len(r.Send) != 0 {
		t.Errorf("work to do: %+v", r)
	}
	if err := w.Receive(frame(2, 0, 0, "a")); !errors.Is(err, gossip.ErrEarly) {
		t.Errorf("error %v, want %v", err, gossip.ErrEarly)
	}
	equal(t, "calls", alg.calls, []string(nil))
}

func TestMessagesAreMixedInIncreasingRank(t *testing.T) {
	alg := &script{plan: overlapping}
	w := newWorker(t, middle, alg, 2)
	gradient(t, w, 7)
	receive(t, w, frame(9, 0, 0, "c"), frame(9, 1, 0, "f"), frame(2, 0, 0, "a"), frame(2, 1, 0, "d"), frame(4, 0, 0, "b"))
	gradient(t, w, 8)
	receive(t, w, frame(4, 1, 0, "e"))
	equal(t, "calls", alg.calls, []string{
		"send 0.0", "mix 0.0 2:a 4:b 9:c", "descend 0 by 7",
		"send 1.0", "mix 1.0 2:d 4:e 9:f", "descend 1 by 8",
	})
}

func TestWaitingNamesTheMissingNeighbours(t *testing.T) {
	w := newWorker(t, middle, &script{plan: overlapping}, 1)
	if r := w.Ready(); len(r.Waiting) != 0 {
		t.Errorf("waiting for %v while the gradient is outstanding", r.Waiting)
	}
	receive(t, w, frame(4, 0, 0, "b"))
	if err := w.Gradient([]float32{7}, 0, 0); err != nil {
		t.Fatal(err)
	}
	equal(t, "waiting", w.Ready().Waiting, []topology.Rank{2, 9})
	receive(t, w, frame(9, 0, 0, "c"))
	equal(t, "waiting", w.Ready().Waiting, []topology.Rank{2})
	receive(t, w, frame(2, 0, 0, "a"))
	if r := w.Ready(); len(r.Waiting) != 0 || !r.Done {
		t.Errorf("all there: %+v", r)
	}
}

func TestPayloadsAreGivenBackOnce(t *testing.T) {
	w := newWorker(t, middle, &script{plan: overlapping}, 2)
	receive(t, w, frame(9, 0, 0, "c"), frame(2, 1, 0, "d"), frame(2, 0, 0, "a"), frame(4, 0, 0, "b"))
	if r := gradient(t, w, 7); len(r.Spent) != 0 {
		t.Errorf("spent before mixing: %q", r.Spent)
	}
	equal(t, "spent", w.Ready().Spent, [][]byte{[]byte("a"), []byte("b"), []byte("c")})
	if r := w.Ready(); len(r.Spent) != 0 {
		t.Errorf("spent twice: %q", r.Spent)
	}
}

func TestLinkSendsMessagesAgain(t *testing.T) {
	w := newWorker(t, middle, &script{plan: overlapping}, 3)
	for k := range 3 {
		gradient(t, w, 7)
		receive(t, w, frame(2, k, 0, "a"), frame(4, k, 0, "b"), frame(9, k, 0, "c"))
	}
	for i := range 2 { // once after the link breaks, and once more after the worker is done
		if r := w.Ready(); !r.Done || len(r.Send) != 0 {
			t.Fatalf("before link %d: %+v", i, r)
		}
		w.Link(4, false)
		w.Link(3, true) // a stranger
		w.Link(4, true)
		equal(t, "frames", w.Ready().Send, []gossip.Frame{
			{From: 5, To: 4, Round: 1, Payload: []byte("1.0")},
			{From: 5, To: 4, Round: 2, Payload: []byte("2.0")},
		})
	}
}

func TestLinkDoesNotDoubleWhatWasNotHandedOut(t *testing.T) {
	w := newWorker(t, middle, &script{plan: overlapping}, 3)
	w.Link(4, true)
	equal(t, "frames", w.Ready().Send, []gossip.Frame{
		{From: 5, To: 2, Payload: []byte("0.0")},
		{From: 5, To: 9, Payload: []byte("0.0")},
		{From: 5, To: 4, Payload: []byte("0.0")},
	})
}

// A frame that is sent again may stay in a driver for long. Its receiver had it already and may have let the sender go
// on by many rounds.
func TestFramesSentAgainKeepTheirPayload(t *testing.T) {
	w := newWorker(t, pair, &script{plan: overlapping}, 5)
	w.Ready()
	w.Link(2, true)
	again := w.Ready().Send[0]
	if err := w.Gradient([]float32{7}, 0, 0); err != nil {
		t.Fatal(err)
	}
	receive(t, w, frame(2, 0, 0, "a"))
	for k := 1; k < 5; k++ {
		gradient(t, w, 7)
		receive(t, w, frame(2, k, 0, "a"))
	}
	if got := string(again.Payload); got != "0.0" {
		t.Errorf("payload became %q", got)
	}
}

func TestWorkerShowsItsAlgorithm(t *testing.T) {
	alg := &script{plan: overlapping}
	w := newWorker(t, pair, alg, 1)
	if &w.Params()[0] != &alg.x[0] || w.ExtraMemory() != 12 {
		t.Errorf("parameters %p and %d bytes, want %p and 12", w.Params(), w.ExtraMemory(), &alg.x)
	}
}
