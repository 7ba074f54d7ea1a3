package gossip_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// A script is an algorithm that writes down how it is called and fails where
// it is told to.
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
	// Worker 5 hears and tells 2, 4 and 9.
	middle = topology.Row{
		Self: 0.25,
		In:   []topology.Edge{{Peer: 2, Weight: 0.25}, {Peer: 4, Weight: 0.25}, {Peer: 9, Weight: 0.25}},
		Out:  []topology.Rank{2, 4, 9},
	}
	// Worker 5 hears and tells 2.
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
	if err := w.Gradient([]float32{v}); err != nil {
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
	if err := w.Gradient([]float32{7}); err != nil {
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
		{"no hops, overlapping", topology.Row{Self: 1}, algos.Plan{Lead: 1, Overlap: true}, []string{"descend 0 by 7", "descend 1 by 8"}},
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

func TestFramesAreRefused(t *testing.T) {
	tests := []struct {
		name  string
		frame gossip.Frame
		want  error
	}{
		{"round over", frame(2, 0, 0, "x"), gossip.ErrStale},
		{"round before the first", frame(2, -1, 0, "x"), gossip.ErrStale},
		{"hop over", frame(4, 1, 0, "x"), gossip.ErrStale},
		{"duplicate of the current hop", frame(2, 1, 1, "x"), gossip.ErrDuplicate},
		{"duplicate of the next hop", frame(4, 2, 0, "x"), gossip.ErrDuplicate},
		{"two slots ahead", frame(2, 2, 1, "x"), gossip.ErrEarly},
		{"far ahead", frame(2, math.MaxInt, 1, "x"), gossip.ErrEarly},
		{"no such hop", frame(2, 1, 2, "x"), gossip.ErrNoSuchHop},
		{"negative hop", frame(2, 1, -1, "x"), gossip.ErrNoSuchHop},
		{"from nobody known", frame(3, 1, 1, "x"), gossip.ErrStranger},
		{"from itself", frame(5, 1, 1, "x"), gossip.ErrStranger},
		{"from a negative rank", frame(-1, 1, 1, "x"), gossip.ErrStranger},
		{"for another worker", gossip.Frame{From: 2, To: 4, Round: 1, Hop: 1}, gossip.ErrStranger},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			alg := &script{plan: twoHops}
			w := newWorker(t, middle, alg, 4)
			for k := range 2 {
				gradient(t, w, 7)
				receive(t, w, frame(2, k, 0, "a"), frame(4, k, 0, "b"), frame(9, k, 0, "c"))
				if k == 0 {
					receive(t, w, frame(2, 0, 1, "d"), frame(4, 0, 1, "e"), frame(9, 0, 1, "f"))
				}
			}
			receive(t, w, frame(2, 1, 1, "g"), frame(4, 2, 0, "h")) // now at round 1 hop 1
			w.Ready()
			calls := slices.Clone(alg.calls)

			err := w.Receive(test.frame)
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			equal(t, "calls", alg.calls, calls)
			r := w.Ready()
			equal(t, "waiting", r.Waiting, []topology.Rank{4, 9})
			if len(r.Send)+len(r.Spent) != 0 {
				t.Errorf("frame changed the machine: %+v", r)
			}
			receive(t, w, frame(4, 1, 1, "i"), frame(9, 1, 1, "j"))
			equal(t, "next mix", alg.calls[len(calls)], "mix 1.1 2:g 4:i 9:j")
		})
	}
}

func TestFrameOfARoundBeyondTheLastIsEarly(t *testing.T) {
	w := newWorker(t, pair, &script{plan: overlapping}, 1)
	if err := w.Receive(frame(2, 1, 0, "x")); !errors.Is(err, gossip.ErrEarly) {
		t.Errorf("error %v, want %v", err, gossip.ErrEarly)
	}
}

func TestRefusalsSayWho(t *testing.T) {
	w := newWorker(t, pair, &script{plan: overlapping}, 1)
	err := w.Receive(frame(3, 0, 0, "x"))
	const want = "gossip: frame from a worker that is no neighbour: worker 5 at round 0 hop 0: round 0 hop 0 from worker 3 to 5"
	if err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestWaitingNamesTheMissingNeighbours(t *testing.T) {
	w := newWorker(t, middle, &script{plan: overlapping}, 1)
	if r := w.Ready(); len(r.Waiting) != 0 {
		t.Errorf("waiting for %v while the gradient is outstanding", r.Waiting)
	}
	receive(t, w, frame(4, 0, 0, "b"))
	if err := w.Gradient([]float32{7}); err != nil {
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

func TestLinkSendsAgainWhatThePeerMayNeed(t *testing.T) {
	w := newWorker(t, middle, &script{plan: overlapping}, 3)
	for k := range 3 {
		gradient(t, w, 7)
		receive(t, w, frame(2, k, 0, "a"), frame(4, k, 0, "b"), frame(9, k, 0, "c"))
	}
	for i := range 2 { // as often as it breaks, and when the worker is done
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

// A frame that is sent again may still lie in a driver when the receiver,
// which had it already, has let the sender go on by many rounds.
func TestFramesSentAgainKeepTheirPayload(t *testing.T) {
	w := newWorker(t, pair, &script{plan: overlapping}, 5)
	w.Ready()
	w.Link(2, true)
	again := w.Ready().Send[0]
	if err := w.Gradient([]float32{7}); err != nil {
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

func TestUnusableMessageIsForgottenAndMayComeAgain(t *testing.T) {
	bad := fmt.Errorf("codec: %w", &algos.MessageError{From: 4, Err: errors.New("too short")})
	alg := &script{plan: overlapping, fails: map[string]error{"mix 0.0 2:a 4:bad 9:c": bad}}
	w := newWorker(t, middle, alg, 1)
	gradient(t, w, 7)
	receive(t, w, frame(2, 0, 0, "a"), frame(4, 0, 0, "bad"))
	err := w.Receive(frame(9, 0, 0, "c"))
	var message *algos.MessageError
	if !errors.As(err, &message) || message.From != 4 {
		t.Fatalf("error %v, want that of the message from worker 4", err)
	}
	const want = "gossip: worker 5 round 0 hop 0: codec: message from worker 4: too short"
	if err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	r := w.Ready()
	equal(t, "spent", r.Spent, [][]byte{[]byte("bad")})
	equal(t, "waiting", r.Waiting, []topology.Rank{4})
	receive(t, w, frame(4, 0, 0, "b"))
	equal(t, "calls", alg.calls, []string{
		"send 0.0", "mix 0.0 2:a 4:bad 9:c", "mix 0.0 2:a 4:b 9:c", "descend 0 by 7",
	})
}

func TestErrorsOfTheAlgorithmEndTheRun(t *testing.T) {
	cause := errors.New("boom")
	tests := []struct {
		name string
		plan algos.Plan
		at   string // the call that fails
		err  error
		want string
	}{
		{"mix", overlapping, "mix 1.0 2:a", cause, "gossip: worker 5 round 1 hop 0: boom"},
		{"descend after mixing", overlapping, "descend 0 by 7", cause, "gossip: worker 5 round 0: gradient: boom"},
		{"descend before mixing", twoHops, "descend 1 by 7", cause, "gossip: worker 5 round 1: gradient: boom"},
		{"send at the start of a round", overlapping, "send 1.0", cause, "gossip: worker 5 round 1 hop 0: boom"},
		{"send of a later hop", twoHops, "send 0.1", cause, "gossip: worker 5 round 0 hop 1: boom"},
		{"message of nobody", overlapping, "mix 0.0 2:a", &algos.MessageError{From: 3, Err: cause},
			"gossip: worker 5 round 0 hop 0: message from worker 3: boom"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			alg := &script{plan: test.plan, fails: map[string]error{test.at: test.err}}
			w := newWorker(t, pair, alg, 2)
			err := drive(w, test.plan.Hops)
			if err == nil || err.Error() != test.want || !errors.Is(err, cause) {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			calls := len(alg.calls)
			w.Ready()
			w.Link(2, true)
			if got := w.Receive(frame(2, 1, 0, "a")); got != err {
				t.Errorf("Receive afterwards: %v, want the same error", got)
			}
			if got := w.Gradient([]float32{7}); got != err {
				t.Errorf("Gradient afterwards: %v, want the same error", got)
			}
			if r := w.Ready(); r.Compute || r.Done || len(r.Waiting) != 0 || len(alg.calls) != calls {
				t.Errorf("goes on afterwards: %+v, calls %v", r, alg.calls[calls:])
			}
		})
	}
}

// drive answers gradients with 7 and sends "a" from worker 2 until w is done
// or fails.
func drive(w *gossip.Worker, hops int) error {
	for k := 0; ; k++ {
		r := w.Ready()
		if r.Done {
			return nil
		}
		if err := w.Gradient([]float32{7}); err != nil {
			return err
		}
		for hop := range hops {
			if err := w.Receive(frame(2, k, hop, "a")); err != nil {
				return err
			}
		}
	}
}

func TestGradientsAreRefused(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	tests := []struct {
		name string
		g    []float32
		want string
	}{
		{"NaN", []float32{nan}, "gossip: worker 5 round 0: gradient: holds NaN or Inf"},
		{"Inf", []float32{inf}, "gossip: worker 5 round 0: gradient: holds NaN or Inf"},
		{"too short", nil, "gossip: worker 5 round 0: gradient: 0 coordinates, want 1"},
		{"too long", make([]float32, 2), "gossip: worker 5 round 0: gradient: 2 coordinates, want 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			alg := &script{plan: twoHops}
			w := newWorker(t, pair, alg, 1)
			w.Ready()
			if err := w.Gradient(test.g); err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if len(alg.calls) != 0 {
				t.Errorf("applied all the same: %v", alg.calls)
			}
			if err := w.Gradient([]float32{7}); err != nil {
				t.Errorf("a good one afterwards: %v", err)
			}
		})
	}
}

func TestGradientNobodyAskedFor(t *testing.T) {
	alg := &script{plan: overlapping}
	w := newWorker(t, pair, alg, 1)
	const want = "gossip: worker 5 round 0: gradient: not asked for"
	if err := w.Gradient([]float32{7}); err == nil || err.Error() != want {
		t.Errorf("before Ready: error %v, want %q", err, want)
	}
	gradient(t, w, 7)
	if err := w.Gradient([]float32{7}); err == nil || err.Error() != want {
		t.Errorf("second one: error %v, want %q", err, want)
	}
	if r := w.Ready(); r.Compute {
		t.Error("asked for twice")
	}
	receive(t, w, frame(2, 0, 0, "a"))
	if err := w.Gradient([]float32{7}); err == nil {
		t.Error("after the last round: accepted")
	}
}

func TestWorkersThatCannotBegin(t *testing.T) {
	sending := map[string]error{"send 0.0": errors.New("model holds NaN")}
	tests := []struct {
		name   string
		alg    *script
		rounds int
		want   string
	}{
		{"negative rounds", &script{plan: overlapping}, -1, "-1 rounds of 1 hops with lead 1"},
		{"negative hops", &script{plan: algos.Plan{Hops: -1, Lead: 1}}, 1, "1 rounds of -1 hops with lead 1"},
		{"no lead", &script{plan: algos.Plan{Hops: 1}}, 1, "1 rounds of 1 hops with lead 0"},
		{"first message", &script{plan: overlapping, fails: sending}, 1, "worker 5 round 0 hop 0: model holds NaN"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := gossip.New(5, pair, test.alg, test.rounds); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestWorkerShowsItsAlgorithm(t *testing.T) {
	alg := &script{plan: overlapping}
	w := newWorker(t, pair, alg, 1)
	if &w.Params()[0] != &alg.x[0] || w.ExtraMemory() != 12 {
		t.Errorf("parameters %p and %d bytes, want %p and 12", w.Params(), w.ExtraMemory(), &alg.x)
	}
}
