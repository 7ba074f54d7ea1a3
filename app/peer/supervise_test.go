package peer

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fleet"
)

func lead(t *testing.T, set ...string) *Lab {
	t.Helper()
	loaded, err := configs.Load(configs.Source{Set: append([]string{"model={name: quadratic, dim: 10}"}, set...)})
	if err != nil {
		t.Fatal(err)
	}
	run, err := experiment.New(loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &Lab{Session: &session.Session{Run: run, Folder: &runfolder.Folder{Dir: "runs"}}, Lost: 4}
}

func TestAPeerIsStartedWithItsRankAndGoesOnLater(t *testing.T) {
	l := lead(t)
	l.Verbose = 1
	cmd := l.peer("program", 3, 0)
	want := []string{"program", "run", l.Folder.Path(runfolder.RunFile), "--rank", "3", "--supervised", "--verbose"}
	if !slices.Equal(cmd.Args, want) {
		t.Errorf("%q, want %q", cmd.Args, want)
	}
	if again := l.peer("program", 3, 1); !slices.Equal(again.Args, append(want, "--resume")) {
		t.Errorf("%q in its second life", again.Args)
	}
	l.Script = Scripts{[]string{"python3", "train.py"}, 2}
	if hides := slices.Contains(l.peer("program", 3, 0).Args, "--hide-script"); !hides {
		t.Error("a script whose output is not asked for is shown")
	}
	l.Script.Shown = ofAll
	if cmd = l.peer("program", 3, 0); !slices.Equal(cmd.Args, append(want, "--", "python3", "train.py")) {
		t.Errorf("%q with a script", cmd.Args)
	}
	if !slices.ContainsFunc(cmd.Env, func(s string) bool { return strings.HasPrefix(s, "OMP_NUM_THREADS=") }) {
		t.Error("each script takes all cores")
	}
	l.Resume = true
	if first := l.peer("program", 3, 0); !slices.Contains(first.Args, "--resume") {
		t.Errorf("%q of a run that goes on", first.Args)
	}
}

func TestRestartsAreReadFromTheirFlag(t *testing.T) {
	for text, want := range map[string]int{"": Unsaid, "never": 0, "0": 0, "7": 7} {
		if got, err := ParseRestart(text); err != nil || got != want {
			t.Errorf("%q: %d, error %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"-1", "often", "1.5"} {
		_, err := ParseRestart(text)
		if _, ok := errors.AsType[*advice.UsageError](err); !ok {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestAPeerIsStartedAnewWhereItCanComeBack(t *testing.T) {
	const none = "checkpoint={every: 0, seconds: 0}"
	for _, test := range []struct {
		set   string
		asked int
		want  int
	}{
		{"seed=1", Unsaid, DefaultRestart}, {"seed=1", 0, 0}, {"seed=1", 9, 9},
		{none, Unsaid, 0}, {none, 9, 0},
		{"faults.on_lost_neighbor=reweight", Unsaid, 0}, {"faults.on_lost_neighbor=reweight", 9, 9},
	} {
		if got := restartsOf(lead(t, test.set).Session.Run.Config(), test.asked); got != test.want {
			t.Errorf("%s, asked for %d: %d, want %d", test.set, test.asked, got, test.want)
		}
	}
}

func TestARunGoesOnWithoutPeersOnlyUnderThePolicyReweight(t *testing.T) {
	if lead(t).spares() != nil {
		t.Error("peers that wait are spared")
	}
	spares := lead(t, "faults.on_lost_neighbor=reweight").spares()
	for _, test := range []struct {
		failure fleet.Failure
		want    bool
	}{{fleet.Failure{Died: true}, true}, {fleet.Failure{Code: 4}, true}, {fleet.Failure{Code: 5}, false}} {
		if got := spares(test.failure); got != test.want {
			t.Errorf("%+v: %v", test.failure, got)
		}
	}
}

func TestTheSimulatorOfATimedRunHasOtherTimes(t *testing.T) {
	if why := lead(t).WhySim(); !strings.HasSuffix(why, ": the same digest") {
		t.Errorf("%q", why)
	}
	if why := lead(t, "algorithm={name: adpsgd, codec: full, bits: 32}").WhySim(); !strings.Contains(why,
		"times are its own") {
		t.Errorf("%q", why)
	}
}
