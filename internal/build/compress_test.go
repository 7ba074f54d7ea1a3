package build

import (
	"slices"
	"strings"
	"testing"
)

// Settings with which each algorithm runs.
var decentralized = []struct {
	name, label string
	bits        int
	vectors     int // extra memory in vectors, on a ring
	set         []string
}{
	{"d2", "d2", 32, 1, []string{"algorithm.name=d2", "algorithm.codec=full", "topology.slack=0.9"}},
	{"d2 of 8 bits", "moniqua-d2", 8, 1, []string{"algorithm.name=d2", "algorithm.theta={rule: certified, verify: false}",
		"topology.slack=0.9"}},
	{"choco with sign", "choco", 1, 2, []string{"algorithm.name=choco", "algorithm.compressor.name=sign",
		"algorithm.gamma=0.3"}},
	{"choco with random-k", "choco", 32, 2, []string{"algorithm.name=choco",
		"algorithm.compressor={name: randomk, ratio: 0.1, scaled: true}", "algorithm.gamma=0.1"}},
	{"choco with top-k", "choco", 32, 2, []string{"algorithm.name=choco", "algorithm.compressor={name: topk, k: 100}",
		"algorithm.gamma=0.3"}},
	{"choco with qsgd", "choco", 4, 2, []string{"algorithm.name=choco", "algorithm.compressor.scaled=true",
		"algorithm.gamma=0.1"}},
	{"choco with nuqsgd", "choco", 4, 2, []string{"algorithm.name=choco",
		"algorithm.compressor={name: nuqsgd, norm: l2, bucket: 512, scaled: true}", "algorithm.gamma=0.1"}},
	{"choco with terngrad", "choco", 2, 2, []string{"algorithm.name=choco",
		"algorithm.compressor={name: terngrad, clip: 2.5, scaled: true}", "algorithm.gamma=0.1"}},
	{"choco with orq", "choco", 3, 2, []string{"algorithm.name=choco",
		"algorithm.compressor={name: orq, levels: 5, bucket: 512, scaled: true}", "algorithm.gamma=0.1"}},
	{"choco with linear_s", "choco", 4, 2, []string{"algorithm.name=choco",
		"algorithm.compressor={name: linear_s, bucket: 512, scaled: true}", "algorithm.gamma=0.1"}},
	{"choco with bingrad_pb", "choco", 1, 2, []string{"algorithm.name=choco", "algorithm.compressor.name=bingrad_pb",
		"algorithm.gamma=0.1"}},
	{"deepsqueeze with bingrad_b", "deepsqueeze", 1, 1,
		[]string{"algorithm.name=deepsqueeze", "algorithm.compressor={name: bingrad_b, rule: lloyd}", "algorithm.gamma=0.1"}},
	{"dcd with levels", "dcd", 3, 2, []string{"algorithm.name=dcd",
		"algorithm.compressor={name: levels, table: [0, 0.1, 0.4, 1], bucket: 64}"}},
	{"dcd with alq", "dcd", 3, 2, []string{"algorithm.name=dcd",
		"algorithm.compressor={name: alq, bits: 3, bucket: 512, refit_at: [0, 2]}"}},
	{"choco with alqgn", "choco", 4, 2, []string{"algorithm.name=choco",
		"algorithm.compressor={name: alqgn, variant: sym, scaled: true, refit_at: [1]}", "algorithm.gamma=0.1"}},
	{"choco with amq", "choco", 4, 2, []string{"algorithm.name=choco",
		"algorithm.compressor={name: amq, norm: l2, clip: 2.5, scaled: true, refit_at: [], refit_every: 2}",
		"algorithm.gamma=0.1"}},
	{"deepsqueeze", "deepsqueeze", 4, 1, []string{"algorithm.name=deepsqueeze",
		"algorithm.compressor={name: minmax, bits: 4, bucket: 100}", "algorithm.gamma=0.5"}},
	{"dcd", "dcd", 8, 2, []string{"algorithm.name=dcd", "algorithm.compressor={name: minmax, bits: 8, mode: stochastic}"}},
	{"dcd with qsgd", "dcd", 6, 2, []string{"algorithm.name=dcd", "algorithm.compressor={bits: 6, norm: l2, bucket: 64}"}},
	{"ecd", "ecd", 32, 3, []string{"algorithm.name=ecd", "algorithm.compressor={name: linear, mode: stochastic}"}},
	{"all-gather of qsgd", "allreduce", 4, 0, []string{"algorithm.name=allreduce", "algorithm.reduce=allgather"}},
	{"all-gather of signs with feedback", "allreduce", 1, 1,
		[]string{"algorithm={name: allreduce, reduce: allgather, error_feedback: true, compressor: {name: sign}}"}},
	{"all-gather of everything", "allreduce", 32, 0,
		[]string{"algorithm={name: allreduce, reduce: allgather, compressor: {name: full}}"}},
	{"server", "allreduce", 4, 0,
		[]string{"algorithm={name: allreduce, reduce: server, compressor: {name: minmax, bits: 4, mode: stochastic}}"}},
	{"server of one worker", "allreduce", 4, 0, []string{"algorithm={name: allreduce, reduce: server}",
		"topology.size=1"}},
	{"naive", "naive", 32, 0, []string{"algorithm.name=naive", "algorithm.compressor.name=linear"}},
}

func TestDecentralizedAlgorithmsRunAsNamed(t *testing.T) {
	for _, test := range decentralized {
		t.Run(test.name, func(t *testing.T) {
			r := assemble(t, append(slices.Clone(undrawn), test.set...)...)
			if r.Describe().Label != test.label || r.Bits() != test.bits {
				t.Errorf("%s of %d bits, want %s of %d", r.Describe().Label, r.Bits(), test.label, test.bits)
			}
			if w := r.Warnings(); len(w) > 0 {
				t.Errorf("warnings: %v", w)
			}
			all := workers(t, r)
			first := digest(t, r, all, 1)
			for i, w := range all {
				if got := w.Machine.ExtraMemory(); got != 4*r.Dim()*test.vectors {
					t.Errorf("worker %d: %d bytes of extra memory, want %d vectors", i, got, test.vectors)
				}
			}
			if again := digest(t, r, workers(t, r), r.N()-1); again != first {
				t.Errorf("the workers of one run in another order: %s and %s", first, again)
			}
		})
	}
}

func TestWarningsNameTheFix(t *testing.T) {
	tests := []struct {
		set  []string
		want string
	}{
		{[]string{"algorithm={name: choco, gamma: 0.1, compressor: {name: randomk}}"},
			"set algorithm.compressor.scaled: true"},
		{[]string{"algorithm.name=choco"},
			"choco with qsgd: an unbiased compressor may diverge, it must be scaled to a contraction: set " +
				"algorithm.compressor.scaled: true"},
		{[]string{"algorithm.name=dcd", "algorithm.compressor.scaled=true"}, "set algorithm.compressor.scaled: false"},
		{[]string{"algorithm.name=deepsqueeze", "algorithm.compressor={name: linear, mode: stochastic}"},
			"set algorithm.compressor.mode: nearest"},
		{[]string{"algorithm.name=dcd", "algorithm.compressor.name=minmax"}, "set algorithm.compressor.mode: stochastic"},
		{[]string{"algorithm.name=ecd", "algorithm.compressor={name: randomk, scaled: true}"},
			"set algorithm.compressor.scaled: false"},
		{[]string{"algorithm.name=dcd", "algorithm.compressor.name=topk"},
			"take an unbiased one like qsgd, alq or orq, or linear or minmax with algorithm.compressor.mode: stochastic"},
		{[]string{"algorithm.name=dcd", "algorithm.compressor.name=bingrad_b"},
			"dcd with bingrad_b: a biased compressor moves the mean of the models: take an unbiased one"},
		{[]string{"algorithm.name=choco", "algorithm.compressor.name=orq"},
			"choco with orq: an unbiased compressor may diverge, it must be scaled"},
		{[]string{"algorithm={name: deepsqueeze, gamma: 0.1}", "algorithm.compressor={name: terngrad, clip: 2.5}"},
			"set algorithm.compressor.scaled: true"},
		{[]string{"algorithm.name=dcd", "algorithm.compressor={name: terngrad, clip: 2.5}"},
			"set algorithm.compressor.clip: 0"},
	}
	for _, test := range tests {
		got := strings.Join(assemble(t, test.set...).Warnings(), "\n")
		if !strings.Contains(got, test.want) {
			t.Errorf("%v: warnings %q, want %q", test.set, got, test.want)
		}
	}
	for _, set := range [][]string{
		{"algorithm.name=d2"},
		{"algorithm.name=choco", "algorithm.compressor.name=full"},
		{"algorithm.name=dcd", "algorithm.compressor.name=full"},
		{"algorithm.name=ecd"},
		{"algorithm.name=deepsqueeze", "algorithm.compressor.name=minmax"},
	} {
		if got := assemble(t, set...).Warnings(); len(got) > 0 {
			t.Errorf("%v: warnings %v, want none", set, got)
		}
	}
}

func TestMistakesOfCompressionAreFoundAtTheirKeys(t *testing.T) {
	areFound(t, []mistake{
		{"d2 on an even ring", []string{"algorithm.name=d2", "topology.slack=1"}, "--set topology.slack=1",
			"set the slack below 1, or to auto"},
		{"d2 on a torus", []string{"topology={kind: torus, rows: 4, cols: 4, slack: 1}", "algorithm.name=d2"},
			"--set topology=", "has -0.6: set the slack below 0.8333"},
		{"d2 at the bound", []string{"topology.size=4", "algorithm.name=d2", "topology.slack=1"}, "--set topology.slack=1",
			"λₙ > -1/3"},
		{"more coordinates than there are", []string{"algorithm.name=choco", "model.name=quadratic",
			"algorithm.compressor={name: topk, k: 101}"}, "--set",
			"topk cannot send 101 parameters of a model with 100 parameters"},
		{"a sign that is scaled", []string{"algorithm.name=choco", "algorithm.compressor={name: sign, scaled: true}"},
			"--set algorithm.compressor=", "sign: only an unbiased compressor whose error is relative can be scaled"},
		{"a grid that is scaled", []string{"algorithm.name=choco", "algorithm.compressor={name: linear, mode: stochastic}",
			"algorithm.compressor.scaled=true"}, "--set algorithm.compressor.scaled=true", "linear: only an unbiased"},
		{"minmax to nearest that is scaled", []string{"algorithm.name=choco", "algorithm.compressor.scaled=true",
			"algorithm.compressor.name=minmax"}, "--set algorithm.compressor.scaled=true", "minmax: only an unbiased"},
		{"2 bits of d2", []string{"algorithm.name=d2", "algorithm.bits=2"}, "--set algorithm.bits=2",
			"take at least 3 bits, or set topology.slack yourself"},
		{"too few bits for d2", []string{"algorithm.name=d2", "algorithm.theta.rule=certified", "topology.slack=0.9",
			"algorithm.bits=2"}, "--set algorithm.theta.rule=certified", "no certificate"},
	})
}

// A run that ends before its levels are fitted says so.
func TestLevelsThatNeverAdaptAreTold(t *testing.T) {
	for _, test := range []struct {
		set  []string
		want string
	}{
		{[]string{"train.rounds=60"}, "the first fit is in round 100, and the run has 60 rounds: set " +
			"algorithm.compressor.refit_at to early rounds, such as [6]"},
		{[]string{"train.rounds=100"}, "the first fit is in round 100"},
		{[]string{"train.rounds=101"}, ""},
		{[]string{"train.rounds=60", "algorithm.compressor.refit_at=[2000, 59]"}, ""},
		{[]string{"train.rounds=60", "algorithm.compressor.refit_at=[]"}, "the first fit is in round 10000"},
		{[]string{"train.rounds=60", "algorithm.compressor={refit_at: [], refit_every: 0}"}, "never fitted: set"},
		{[]string{"train.rounds=60", "algorithm.compressor.refit_at=[0]"}, ""},
		{[]string{"train.rounds=60", "algorithm.compressor={name: orq}"}, ""},
	} {
		set := append([]string{"algorithm={name: allreduce, reduce: allgather, compressor: {name: alq}}"}, test.set...)
		if got := strings.Join(assemble(t, set...).Warnings(), "\n"); !strings.Contains(got, test.want) ||
			(got == "") != (test.want == "") {
			t.Errorf("%v: warnings %q, want %q", test.set, got, test.want)
		}
	}
}

// Only the chosen layers are compressed. The others travel in full precision, as in MQGrad, also where a controller
// chooses the bits.
func TestChosenLayersAreCompressed(t *testing.T) {
	base := []string{"algorithm={name: allreduce, reduce: allgather, compressor: {name: minmax, bucket: 0}}",
		"train.rounds=8", "model.hidden=[8, 6]"}
	whole := assemble(t, base...)
	for _, test := range []struct {
		layers string
		chosen []int // tensors
	}{
		{"[" + whole.Size().Layout[0].Name + "]", []int{0}},
		{"[" + whole.Size().Layout[2].Name + ", " + whole.Size().Layout[4].Name + "]", []int{2, 4}},
	} {
		for _, controller := range []string{"fix", "mqgrad"} {
			set := append(slices.Clone(base), "algorithm.compressor.layers="+test.layers)
			more := 0
			if controller != "fix" {
				set, more = append(set, "algorithm.controller={name: mqgrad, min_bits: 4, max_bits: 4}"), 1 // the bits
			}
			r, n := assemble(t, set...), 0
			for _, i := range test.chosen {
				n += r.Size().Layout[i].Len()
			}
			c, err := r.Compressors().Make(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := 8 + (4*n+7)/8 + 4*(r.Dim()-n) + more; c.Len(r.Dim()) != want {
				t.Errorf("%s, %s: %d bytes, want %d", test.layers, controller, c.Len(r.Dim()), want)
			}
			_, res := simulate(t, r, workers(t, r))
			if sum := summarize(t, r, res); sum.Digest == "" {
				t.Errorf("%s, %s: no end", test.layers, controller)
			}
		}
	}
	areFound(t, []mistake{
		{"a layer that is not there", append(slices.Clone(base), "algorithm.compressor.layers=[conv*]"),
			"--set algorithm.compressor.layers", `no tensor of the model has the name "conv*": it has ` + whole.Size().Layout[0].Name},
		{"a wrong pattern", append(slices.Clone(base), `algorithm.compressor.layers=["[a"]`),
			"--set algorithm.compressor.layers", "is no pattern"},
	})
}
