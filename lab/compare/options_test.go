package compare

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
)

func twoAlgorithms() *configs.Comparison {
	return &configs.Comparison{
		Name: "small", Mode: "sim", Algorithms: []configs.Variant{{Label: "A"}, {Label: "B"}}, Seeds: []uint64{1},
	}
}

func TestOptionsHaveTheDefaultsOfTheComparison(t *testing.T) {
	o, err := Options{}.options(twoAlgorithms())
	if err != nil || o.Dir != "small" || o.Mode != "sim" || !slices.Equal(o.Only, []string{"A", "B"}) {
		t.Errorf("%+v, error %v", o, err)
	}
	o, err = Options{Dir: "d", Mode: "lab", Only: []string{"B"}}.options(twoAlgorithms())
	if err != nil || o.Dir != "d" || o.Mode != "lab" || !slices.Equal(o.Only, []string{"B"}) {
		t.Errorf("%+v, error %v", o, err)
	}
}

func TestOptionsThatNoComparisonHasAreRefused(t *testing.T) {
	for want, o := range map[string]Options{
		`compare: --mode "run": want one of sim, lab`: {Mode: "run"},
		`compare: --only "C": want one of A, B`:       {Only: []string{"A", "C"}},
		"compare: --set seed":                         {Set: []string{"train.rounds=3", "seed=4"}},
	} {
		_, err := o.options(twoAlgorithms())
		if _, ok := errors.AsType[*advice.UsageError](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: error %v, want %s", o, err, want)
		}
	}
}

func TestACommandLineShowsNeitherSecretsNorTheHomeFolder(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil || len(home) < 2 {
		t.Skip("SKIPPED: this user has no home folder")
	}
	args := []string{"peer", "compare", "x", "-o", filepath.Join(home, "out"), "--set=node.join_secret=sesame",
		"--set", "data.dir=d"}
	got := CommandLine(args)
	if strings.Contains(got, "sesame") || strings.Contains(got, home) || !strings.Contains(got, "/out") {
		t.Errorf("%s", got)
	}
}

func TestSettingsOfANetworkSurviveTheirArgument(t *testing.T) {
	set := []string{"limit.rate=1mbit", `limit.links={0-1: {rate: 1kbit, loss: 0.1}}`, `output.dir=a "b", c`}
	got, err := splitSettings(joinSettings(set))
	if err != nil || !slices.Equal(got, set) {
		t.Errorf("%q, error %v, want %q", got, err, set)
	}
	if left := withoutLimits(append([]string{"seed=3"}, set...)); !slices.Equal(left, []string{"seed=3", set[2]}) {
		t.Errorf("%q without limits", left)
	}
}
