package preflight

import (
	"errors"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/experiment"
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

func TestAStateIsAModelAndItsMomentum(t *testing.T) {
	for name, test := range map[string]struct {
		mode string
		set  []string
		want int64
	}{
		"a model":          {"lab", []string{"train.momentum=0"}, 4000},
		"with momentum":    {"run", []string{"train.momentum=0.9"}, 8000},
		"simulated":        {"sim", nil, 0},
		"others go on":     {"lab", []string{"faults.on_lost_neighbor=reweight"}, 0},
		"nothing is taken": {"lab", []string{"checkpoint={every: 0, seconds: 0}"}, 0},
	} {
		if got := leastState(assembled(t, test.set...), test.mode); got != test.want {
			t.Errorf("%s: %d bytes, want %d", name, got, test.want)
		}
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
