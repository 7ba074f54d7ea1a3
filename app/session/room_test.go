package session

import (
	"errors"
	"testing"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/internal/budget"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/forecast"
)

func assembled(t *testing.T, set ...string) *experiment.Run {
	t.Helper()
	loaded, err := configs.Load(configs.Source{Set: append([]string{"model={name: quadratic, dim: 1000}"}, set...)})
	if err != nil {
		t.Fatal(err)
	}
	run, err := Assemble(loaded)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestTheDiskOfARunHasJournalsAndCheckpoints(t *testing.T) {
	for name, test := range map[string]struct {
		mode                 string
		set                  []string
		checkpoints, journal bool
	}{
		"a lab":            {"lab", nil, true, true},
		"a peer":           {"run", nil, true, true},
		"simulated":        {"sim", nil, true, false},
		"no messages kept": {"lab", []string{"algorithm={name: adpsgd, codec: full, bits: 32}"}, true, false},
		"others go on":     {"lab", []string{"faults.on_lost_neighbor=reweight"}, false, false},
		"nothing is taken": {"lab", []string{"checkpoint={every: 0, seconds: 0}"}, false, false},
	} {
		run := assembled(t, test.set...)
		disk := forecast.Disk(run, test.mode)
		if got := disk.Of(budget.Checkpoint) > 0; got != test.checkpoints {
			t.Errorf("%s: checkpoints %v, want %v", name, got, test.checkpoints)
		}
		if got := disk.Of(budget.Journal) > 0; got != test.journal {
			t.Errorf("%s: a journal %v, want %v", name, got, test.journal)
		}
		peers := int64(1)
		if test.mode != "run" {
			peers = int64(run.N())
		}
		if got := disk.Of(budget.Model); got != 4000*peers {
			t.Errorf("%s: models of %d bytes, want those of %d peers", name, got, peers)
		}
	}
}

// A run is refused without room for what it cannot do without, and warned of what it may take beyond that.
func TestTheLeastIsFarBelowTheMost(t *testing.T) {
	run := assembled(t, "train.rounds=100000")
	if least, most := leastState(run, "lab"), forecast.Disk(run, "lab").Total(); least == 0 || least > most/10 {
		t.Errorf("at least %d bytes, at most %d", least, most)
	}
	if got := leastState(run, "sim"); got != 0 {
		t.Errorf("a simulation needs %d bytes for states, and goes on without", got)
	}
}

func TestASmallRunHasRoom(t *testing.T) {
	run := assembled(t, "output.dir="+t.TempDir())
	warning, err := CheckRoom(run, "lab")
	if _, full := errors.AsType[*runfolder.SpaceError](err); full {
		t.Skipf("SKIPPED: the disk is full: %v", err)
	}
	if err != nil || warning != "" {
		t.Errorf("warning %q, error %v", warning, err)
	}
}
