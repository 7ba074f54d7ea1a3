package build

import (
	"strings"
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/topology"
)

// Each run whose members cannot come and go is refused at the key, with what to do.
func TestMembersThatCannotComeAndGo(t *testing.T) {
	own := classFile(t, t.TempDir(), "own.csv", map[string]int{"a": 20, "b": 20})
	for want, set := range map[string][]string{
		"algorithm.name: dcd: members cannot come and go: it sends steps":  {"algorithm.name=dcd"},
		"algorithm.name: ecd: members cannot come and go: it sends steps":  {"algorithm.name=ecd"},
		"algorithm.name: adpsgd: members cannot come and go with a script": {"algorithm.name=adpsgd", "model.name=external"},
		"algorithm.theta.rule: theorem of dpsgd: members cannot come and go: the bound is one of pairs": {
			"algorithm.theta.rule=theorem"},
		"algorithm.theta.rule: certified of d2: members cannot come and go": {"algorithm.theta.rule=certified",
			"algorithm.name=d2"},
		"members: moniqua: certified rule: 8 levels": {"algorithm.codec=moniqua", "algorithm.theta.rule=certified",
			"algorithm.bits=3", "topology={kind: torus, rows: 2, cols: 4, slack: 1}"},
		"membership.max: 300: theta needs a certificate for each number of members: must be at most 256": {
			"algorithm.codec=moniqua", "algorithm.theta.rule=certified", "membership.max=300"},
		"algorithm.controller.name: mqgrad: members cannot come and go: its choice depends on the time, and no log": {
			"algorithm.controller.name=mqgrad"},
		"data.weights: samples: members cannot come and go: the weights are those of the founders: must be workers": {
			"data.weights=samples"},
		"train.epochs: members cannot come and go: no machine knows how many rows of their own the others bring": {
			"data={name: file, path: '" + own + "', partition: local}", "train.epochs=2", "train.batch=1"},
		"data.sizes.law: shares: members cannot come and go: the list is one of the founders: must be natural": {
			"data.sizes={law: shares, shares: [1, 2, 3, 4, 5, 6, 7, 8]}"},
		"data.label_noise: members cannot come and go: the list is one of the founders: must have one number": {
			"data.label_noise=[0, 0, 0, 0, 0, 0, 0, 0.5]"},
		"train.slow: members cannot come and go: its keys are ranks of founders: leave it out": {"train.slow={2: 3}"},
		"limit.links: members cannot come and go: its keys are ranks of founders: leave it out": {
			"limit.links={0-1: {rate: 1mbit}}"},
		"topology.kind: hypercube: members cannot come and go: it exists for powers of two only": {"topology.kind=hypercube"},
		"topology.kind: one-peer-hypercube: members cannot come and go": {
			"topology.kind=one-peer-hypercube"},
		"topology.rows: 1x8: members cannot come and go: each view takes the grid nearest to a square: must be 2x4": {
			"topology={kind: torus, rows: 1, cols: 8}"},
		"topology.degree: 3 members: random-regular: degree 4: must be 2 to 2 for 3 workers": {
			"topology={kind: random-regular, degree: 4}"},
		"torus:4x4 with slack 0.85 has -0.36: set the slack below 0.8333, or to auto": {"algorithm.name=d2",
			"topology={kind: torus, rows: 2, cols: 4, slack: 0.85}"},
		"membership.max: 300: d2 needs a W with λₙ > -1/3 for each number of members: must be at most 256": {
			"algorithm.name=d2", "membership.max=300"},
	} {
		base := []string{"algorithm.codec=full", "membership.mode=view"}
		if strings.HasPrefix(want, "algorithm.theta") || strings.HasPrefix(want, "algorithm.controller") {
			base = base[1:]
		}
		l, err := configs.Load(configs.Source{Set: append(base, set...)})
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if _, err := experiment.New(l.Config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// A slack of auto suits each number of members: with four, the algorithm needs less than with eight.
func TestSlackForEachNumberOfMembers(t *testing.T) {
	set := []string{"algorithm.name=d2", "algorithm.codec=full", "topology={kind: torus, rows: 2, cols: 4}"}
	fixed, view := assemble(t, set...), assemble(t, append(set, "membership.mode=view")...)
	if a, b := fixed.Graph().Spec().Slack, view.Graph().Spec().Slack; b >= a || b <= 0.5 {
		t.Errorf("slack %v for 8 workers, %v for 2 to 16 members: want less, and more than 0.5", a, b)
	}
	for n := 2; n <= 16; n++ {
		spec := view.Graph().Spec()
		spec.N = n
		spec.Rows, spec.Cols = topology.Sides(n)
		g, err := topology.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := g.Spectrum(); err != nil || !s.D2Admissible() {
			t.Errorf("%d members: λₙ = %v, error %v", n, s.LambdaN, err)
		}
	}
}

// Each number of members has a run, and its rounds are those of the founders.
func TestResizedRuns(t *testing.T) {
	r := assemble(t, "algorithm.codec=full", "membership.mode=view", "train.epochs=2",
		"topology={kind: torus, rows: 2, cols: 4}")
	for n := 1; n <= 16; n++ {
		resized, err := experiment.Resized(r, n)
		if err != nil {
			t.Fatal(err)
		}
		if resized.N() != n || resized.Config().Train.Rounds != r.Config().Train.Rounds {
			t.Errorf("%d members: %d workers, %d rounds, want %d", n, resized.N(), resized.Config().Train.Rounds,
				r.Config().Train.Rounds)
		}
	}
}

// The founders are the workers of a run in which all stay. Drivers of workers that stay refuse any other.
func TestWorkersOfARunWithViewsAreRefused(t *testing.T) {
	set := []string{"algorithm.codec=full", "membership.mode=view"}
	if all, err := All(assemble(t, set...)); err != nil || len(all) != 8 {
		t.Errorf("%d workers, error %v", len(all), err)
	}
	r := assemble(t, append(set, "faults.script=[{at: 3, join: 1}]")...)
	const want = "membership.mode: members that come and go train in peer run, lab and sim: must be fixed here"
	if _, err := All(r); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if _, err := New(r, 0, nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	hung := assemble(t, append(set, "faults.script=[{at: 3, hang: 1, for: 2s}]")...)
	err := experiment.CheckFaults(hung.Config())
	if err == nil || !strings.Contains(err.Error(), "faults.script.0: hang: only peer sim plays it") {
		t.Errorf("error %v", err)
	}
	if err := experiment.CheckFaults(r.Config()); err != nil {
		t.Error(err)
	}
}

// Members measure no links, so a choice of coders that needs the rate says so.
func TestMembersWarnOfACoderThatCodesNothing(t *testing.T) {
	for _, test := range []struct {
		set  []string
		want bool
	}{
		{[]string{"membership={mode: view, max: 8}", "wire.entropy=auto"}, true},
		{[]string{"membership={mode: view, max: 8}", "wire.entropy=auto", "limit.rate=10mbit"}, false},
		{[]string{"membership={mode: view, max: 8}", "wire.entropy=huff0"}, false},
		{[]string{"wire.entropy=auto"}, false},
	} {
		got := strings.Join(assemble(t, test.set...).Warnings(), "\n")
		if strings.Contains(got, "wire.entropy: auto codes nothing") != test.want {
			t.Errorf("%v: warnings %q, wants the one of wire.entropy: %v", test.set, got, test.want)
		}
	}
}
