package gossip_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

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
		{"from a stranger", frame(3, 1, 1, "x"), gossip.ErrStranger},
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

func TestRefusalsNameTheWorker(t *testing.T) {
	w := newWorker(t, pair, &script{plan: overlapping}, 1)
	err := w.Receive(frame(3, 0, 0, "x"))
	const want = "gossip: frame from a worker that is no neighbour: worker 5 at round 0 hop 0: round 0 hop 0 from " +
		"worker 3 to 5"
	if err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
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
		{"message of a stranger", overlapping, "mix 0.0 2:a", &algos.MessageError{From: 3, Err: cause},
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
			if got := w.Gradient([]float32{7}, 0, 0); got != err {
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
		if err := w.Gradient([]float32{7}, 0, 0); err != nil {
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
			if err := w.Gradient(test.g, 0, 0); err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if len(alg.calls) != 0 {
				t.Errorf("applied all the same: %v", alg.calls)
			}
			if err := w.Gradient([]float32{7}, 0, 0); err != nil {
				t.Errorf("a good one afterwards: %v", err)
			}
		})
	}
}

func TestUnrequestedGradientIsRefused(t *testing.T) {
	alg := &script{plan: overlapping}
	w := newWorker(t, pair, alg, 1)
	const want = "gossip: worker 5 round 0: gradient: not asked for: call Ready first"
	if err := w.Gradient([]float32{7}, 0, 0); err == nil || err.Error() != want {
		t.Errorf("before Ready: error %v, want %q", err, want)
	}
	gradient(t, w, 7)
	if err := w.Gradient([]float32{7}, 0, 0); err == nil || err.Error() != want {
		t.Errorf("second one: error %v, want %q", err, want)
	}
	if r := w.Ready(); r.Compute {
		t.Error("asked for twice")
	}
	receive(t, w, frame(2, 0, 0, "a"))
	if err := w.Gradient([]float32{7}, 0, 0); err == nil {
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
