package worker

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/model"
	"gossiptrainer/node"
	"gossiptrainer/topology"
)

// assembled returns a run of a small quadratic with some settings.
func assembled(t *testing.T, set ...string) *experiment.Run {
	t.Helper()
	set = append([]string{"model={name: quadratic, dim: 50}"}, set...)
	loaded, err := configs.Load(configs.Source{File: "ring8", Set: set})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func storeOf(run *experiment.Run, folder string, rank topology.Rank) *Store {
	return NewStore(run, folder, rank, slog.New(slog.DiscardHandler))
}

// save opens the store of a worker afresh and leaves the checkpoint before a round in it.
func save(t *testing.T, run *experiment.Run, folder string, rank topology.Rank, round int) {
	t.Helper()
	s := storeOf(run, folder, rank)
	defer s.Close()
	_, kept, err := open(s, Fresh)
	if err != nil {
		t.Fatal(err)
	}
	kept.Take(round)
	if err := errors.Join(kept.Write(round), kept.Journal.Close()); err != nil {
		t.Fatal(err)
	}
}

// A checkpoint of round 0 says that a worker has begun and holds no state. A worker can
// go on from it.
func TestAWorkerGoesOnFromRoundZero(t *testing.T) {
	run, folder := assembled(t), t.TempDir()
	save(t, run, folder, 3, 0)
	s := storeOf(run, folder, 3)
	defer s.Close()
	found, err := checkpoint.Latest(s.Dir())
	if err != nil || found.Round != 0 || len(found.State.Tensors) != 0 {
		t.Fatalf("found %+v, error %v", found, err)
	}
	for _, from := range []Start{Resume, Return} {
		w, kept, err := open(s, from)
		if err != nil {
			t.Fatal(err)
		}
		if kept.Round != 0 || w.Machine.Ready().Round != 0 {
			t.Errorf("begins at round %d", kept.Round)
		}
		if err := kept.Journal.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFreshRunNeedsAnEmptyStore(t *testing.T) {
	run, folder := assembled(t), t.TempDir()
	save(t, run, folder, 3, 0)
	s := storeOf(run, folder, 3)
	defer s.Close()
	_, _, err := open(s, Fresh)
	if used, ok := errors.AsType[*UsedError](err); !ok || used.Dir != s.Dir() || used.Round != 0 {
		t.Errorf("error %v, want a UsedError of %s", err, s.Dir())
	}
}

func TestAStoreIsOpenOnce(t *testing.T) {
	run, folder := assembled(t), t.TempDir()
	first, second := storeOf(run, folder, 3), storeOf(run, folder, 3)
	_, kept, err := open(first, Fresh)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Journal.Close()
	if _, _, err := open(second, Fresh); !isLocked(err) {
		t.Errorf("a second process: error %v, want that the folder is in use", err)
	}
	first.Close()
	_, again, err := open(second, Return)
	if err != nil {
		t.Fatalf("after the first process: %v", err)
	}
	if err := again.Journal.Close(); err != nil {
		t.Error(err)
	}
	second.Close()
}

func isLocked(err error) bool {
	_, ok := errors.AsType[*runfolder.LockedError](err)
	return ok
}

func TestWithoutACheckpoint(t *testing.T) {
	run, folder := assembled(t), t.TempDir()
	_, _, err := open(storeOf(run, folder, 3), Resume)
	if !errors.Is(err, checkpoint.ErrNone) {
		t.Errorf("resume: error %v, want none there", err)
	}
	s := storeOf(run, folder, 3)
	w, kept, err := open(s, Return)
	if err != nil || w.Machine.Ready().Round != 0 || kept.Round != 0 {
		t.Fatalf("return: begins at %+v, error %v; want round 0", kept, err)
	}
	if err := kept.Journal.Close(); err != nil {
		t.Fatal(err)
	}
	s.Close()
	none := assembled(t, "checkpoint={every: 0, seconds: 0}")
	if _, kept, err := open(storeOf(none, t.TempDir(), 3), Fresh); kept != nil || err != nil {
		t.Errorf("a run without checkpoints keeps %+v, error %v", kept, err)
	}
}

func TestAnotherRankIsNamed(t *testing.T) {
	run, folder := assembled(t), t.TempDir()
	save(t, run, folder, 5, 0)
	_, _, err := open(storeOf(run, folder, 3), Resume)
	hinted, ok := errors.AsType[*advice.Error](err)
	if !ok || !errors.Is(err, checkpoint.ErrNone) || !strings.Contains(hinted.Hint(), "rank [5]") {
		t.Errorf("error %v, want a hint at rank 5", err)
	}
}

// Under the policy reweight the others go on, so a worker has no use for its own state.
func TestAWorkerOfAReweightedRunKeepsNothing(t *testing.T) {
	run, folder := assembled(t, "faults.on_lost_neighbor=reweight"), t.TempDir()
	s := storeOf(run, folder, 3)
	for _, from := range []Start{Fresh, Return} {
		if w, kept, err := open(s, from); w == nil || kept != nil || err != nil {
			t.Errorf("start %d: worker %v keeps %+v, error %v", from, w, kept, err)
		}
	}
	if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: error %v, want no such folder", s.Dir(), err)
	}
}

func TestSettingsThatMayChange(t *testing.T) {
	for _, test := range []struct {
		name   string
		before []string
		after  []string
		legal  bool
	}{
		{"none", nil, nil, true},
		{
			"more rounds",
			[]string{"train={rounds: 10, schedule: constant}"}, []string{"train={rounds: 20, schedule: constant}"}, true,
		},
		{
			"fewer rounds",
			[]string{"train={rounds: 20, schedule: constant}"}, []string{"train={rounds: 10, schedule: constant}"}, false,
		},
		{
			"more rounds of a schedule that follows them",
			[]string{"train={rounds: 10, schedule: cosine}"}, []string{"train={rounds: 20, schedule: cosine}"}, false,
		},
		{"another seed", []string{"seed=1"}, []string{"seed=2"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			save(t, assembled(t, test.before...), folder, 3, 5)
			after := assembled(t, test.after...)
			err := storeOf(after, folder, 3).Check()
			if _, mismatch := errors.AsType[*checkpoint.MismatchError](err); mismatch == test.legal || err == nil != test.legal {
				t.Errorf("worker 3: error %v, legal %v", err, test.legal)
			}
			if any := CheckStores(after, folder); (any == nil) != test.legal {
				t.Errorf("all workers: error %v, legal %v", any, test.legal)
			}
		})
	}
	if err := CheckStores(assembled(t), t.TempDir()); !errors.Is(err, checkpoint.ErrNone) {
		t.Errorf("an empty folder: error %v, want that there is no checkpoint", err)
	}
}

// Only a process with the script of an external model knows its size and what follows from it.
func TestASupervisorKnowsNoSize(t *testing.T) {
	outlined := func(elements int, gamma string) *experiment.Run {
		loaded, err := configs.Load(configs.Source{Set: []string{"model.name=external", "algorithm={name: choco, gamma: " +
			gamma + ", compressor: {name: sign}}"}})
		if err != nil {
			t.Fatal(err)
		}
		if elements > 0 {
			loaded.Config.Model.Outline = &model.Outline{Params: []model.Param{{Name: "a", Shape: []int{elements}}}}
		}
		run, err := experiment.New(loaded.Config)
		if err != nil {
			t.Fatal(err)
		}
		return run.Programmed(experiment.Program{Start: make([]float32, elements)})
	}
	folder := t.TempDir()
	save(t, outlined(50, "auto"), folder, 3, 0)
	for _, test := range []struct {
		name  string
		run   *experiment.Run
		legal bool
	}{
		{"the same", outlined(50, "auto"), true},
		{"unknown", outlined(0, "auto"), true},
		{"unknown, with another gamma", outlined(0, "0.9"), false},
		{"another script", outlined(51, "auto"), false},
	} {
		if err := CheckStores(test.run, folder); (err == nil) != test.legal {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// open builds the worker of a built-in model where the store says.
func open(s *Store, from Start) (*build.Worker, *node.Checkpoints, error) {
	o, err := s.Find(from)
	if err != nil {
		return nil, nil, err
	}
	return s.Begin(o, s.run, nil)
}
