package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/app/screen"
	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
)

func simulated(t *testing.T, first *experiment.Run, set ...string) (*experiment.Run, *Run) {
	t.Helper()
	set = append([]string{
		"name=small", "topology.size=3", "model={name: quadratic, dim: 10}", "train.rounds=30", "train.schedule=constant",
		"output={dir: " + t.TempDir() + ", every: 1, evaluate: 10}",
	}, set...)
	loaded, err := configs.Load(configs.Source{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if first != nil {
		run, err = first.Beside(loaded.Config)
	}
	if err != nil {
		t.Fatal(err)
	}
	return run, &Run{Session: started(t, run, session.Options{})}
}

// takes is a timing of gradients alone.
func takes(d time.Duration) Timing {
	return Timing{Compute: cost.Compute{Costs: cost.Costs{Gradient: d}}}
}

// started starts the silent session of a simulation.
func started(t *testing.T, run *experiment.Run, o session.Options) *session.Session {
	t.Helper()
	o.Mode, o.Screen = "sim", session.Screen{
		Talk:    io.Discard,
		Display: func(screen.Run) screen.Display { return screen.Silent(io.Discard) },
		Logger:  func(io.Writer) *slog.Logger { return slog.New(slog.DiscardHandler) },
	}
	s, err := session.Start(t.Context(), run, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.End)
	return s
}

func TestNetworksSayWhenAndNotWhat(t *testing.T) {
	first, fast := simulated(t, nil)
	_, slow := simulated(t, first, "limit.rate=1mbit")
	for _, r := range []*Run{fast, slow} {
		r.EndAt(session.Until{})
	}
	if err := Together(t.Context(), []*Run{fast, slow}, takes(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	one, finals, err := fast.Summary(fast.Models)
	if err != nil || len(finals) != 3 || one.Rounds != 30 {
		t.Fatalf("%+v, error %v", one, err)
	}
	other, slower, err := slow.Summary(slow.Models)
	if err != nil || other.Digest != one.Digest || slower[0].Time <= finals[0].Time {
		t.Errorf("digests %.8s and %.8s, times %v and %v, error %v",
			one.Digest, other.Digest, finals[0].Time, slower[0].Time, err)
	}
	for rank := range 3 {
		if _, err := os.Stat(fast.Folder.ModelPath(rank)); err != nil {
			t.Error(err)
		}
	}
}

func TestASimulationEndsWithItsTime(t *testing.T) {
	_, r := simulated(t, nil)
	r.EndAt(session.Until{Time: 10 * time.Millisecond})
	if err := Together(t.Context(), []*Run{r}, takes(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if rounds := r.Shorter(); rounds < 1 || rounds > 11 {
		t.Errorf("%d rounds of 1 ms in 10 ms", rounds)
	}
}

// A run may end before its rounds are over while processes die. All workers then end at one
// round, with the digest of a run of that many rounds without faults. Faults after the end do not
// happen, and are named.
func TestARunWithKillsEndsEarlyLikeOneWithout(t *testing.T) {
	_, killed := simulated(t, nil, "train.rounds=1000", "checkpoint={every: 3, seconds: 0}",
		"faults.script=[{at: 4, kill: 1}, {at: 9, kill: 0}, {at: 40ms, kill: 2, for: 200ms}, {at: 999, kill: 0}, "+
			"{at: 1h, kill: 1}]")
	killed.EndAt(session.Until{Time: time.Second}) // the time goes on while processes are started
	if err := Together(t.Context(), []*Run{killed}, takes(5*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	got, finals, err := killed.Summary(killed.Models)
	if err != nil {
		t.Fatal(err)
	}
	rounds := killed.Shorter()
	if rounds < 10 || rounds > 200 || got.Ended != "time=1s" {
		t.Fatalf("%d rounds, ended by %q, want 10 to 200 by time=1s", rounds, got.Ended)
	}
	for _, f := range finals {
		if f.Rounds != rounds {
			t.Errorf("worker %d has finished %d rounds, worker 0 has %d", f.Rank, f.Rounds, rounds)
		}
	}
	missed := []record.MissedFault{
		{Fault: "kill 0", At: "round 999", Why: fmt.Sprintf("the run ended after %d rounds", rounds)},
		{Fault: "kill 1", At: "1h0m0s", Why: got.MissedFaults[1].Why},
	}
	if !slices.Equal(got.MissedFaults, missed) || !strings.HasPrefix(missed[1].Why, "the run ended after 1.") {
		t.Errorf("missed faults %+v, want %+v", got.MissedFaults, missed)
	}
	_, calm := simulated(t, nil, fmt.Sprintf("train.rounds=%d", rounds))
	calm.EndAt(session.Until{})
	if err := Together(t.Context(), []*Run{calm}, takes(5*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	want, _, err := calm.Summary(calm.Models)
	if err != nil || want.Digest != got.Digest || len(want.MissedFaults) > 0 {
		t.Errorf("digests %.8s with kills and %.8s without, %d missed, error %v",
			got.Digest, want.Digest, len(want.MissedFaults), err)
	}
}

// A run that is stopped writes a checkpoint at the next round, whatever the settings say, and goes on from there.
func TestAStoppedRunGoesOn(t *testing.T) {
	run, stopped := simulated(t, nil, "checkpoint={every: 0, seconds: 3600}")
	stopped.EndAt(session.Until{})
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("it is late")
	stop(why)
	if err := Together(ctx, []*Run{stopped}, takes(time.Millisecond)); !errors.Is(err, why) {
		t.Fatalf("error %v, want %v", err, why)
	}
	dir := stopped.Folder.Dir
	stopped.End()
	from, err := Find([]*experiment.Run{run}, dir, session.Until{})
	if err != nil {
		t.Fatal(err)
	}
	if from.Round < 1 || from.Round > 3 {
		t.Errorf("the state is of round %d, want one of the first", from.Round)
	}
	again := &Run{Session: started(t, run, session.Options{Dir: dir, Place: from.Place}), From: from}
	again.EndAt(session.Until{})
	_, calm := simulated(t, nil)
	calm.EndAt(session.Until{})
	digests := make([]string, 2)
	for i, r := range []*Run{again, calm} {
		if err := Together(t.Context(), []*Run{r}, takes(time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		summary, _, err := r.Summary(r.Models)
		if err != nil {
			t.Fatal(err)
		}
		digests[i] = summary.Digest
	}
	if digests[0] != digests[1] {
		t.Errorf("digest %.8s after the stop, %.8s without", digests[0], digests[1])
	}
}

func TestTheFirstErrorEndsAll(t *testing.T) {
	broken := errors.New("broken")
	ended := make(chan struct{}, 2)
	err := allAtOnce(t.Context(), 3, func(ctx context.Context, i int) error {
		if i == 1 {
			return broken
		}
		<-ctx.Done()
		ended <- struct{}{}
		return ctx.Err()
	})
	if !errors.Is(err, broken) || len(ended) != 2 {
		t.Errorf("error %v, %d others ended", err, len(ended))
	}
}
