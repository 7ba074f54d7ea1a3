package build

import (
	"fmt"
	"testing"
)

func TestAutomaticGamma(t *testing.T) {
	compressor := func(text string) string { return "algorithm.compressor={name: " + text + "}" }
	tests := []struct {
		algorithm, compressor string
		least, most           float64
	}{
		{"choco", "full", 1, 1},
		{"choco", "linear", 1, 1},
		{"choco", "minmax, bits: 8", 1, 1},
		{"choco", "minmax, bits: 2", 0.2, 0.4},
		{"choco", "sign", 0.4, 0.7},
		{"choco", "bingrad_b", 0.4, 0.7},
		{"choco", "topk, ratio: 0.01", 0.03, 0.1},
		{"choco", "topk, ratio: 0.1", 0.2, 0.4},
		{"choco", "randomk, ratio: 0.1, scaled: true", 0.04, 0.07},
		{"choco", "randomk, ratio: 0.01, scaled: true", 0.004, 0.008},
		{"choco", "qsgd, bits: 2, scaled: true", 0.4, 0.7},
		{"deepsqueeze", "full", 1, 1},
		{"deepsqueeze", "minmax, bits: 8", 1, 1},
		{"deepsqueeze", "minmax, bits: 4", 0.2, 0.5},
		{"deepsqueeze", "sign", 0.05, 0.1},
		{"deepsqueeze", "qsgd, bits: 2, scaled: true", 0.02, 0.06},
		{"deepsqueeze", "topk, ratio: 0.01", 0.01, 0.03},
		{"deepsqueeze", "topk, ratio: 0.1", 0.04, 0.1},
	}
	for _, test := range tests {
		r := assemble(t, "algorithm.name="+test.algorithm, compressor(test.compressor))
		if got := float64(r.Config().Algorithm.Gamma); got < test.least || got > test.most {
			t.Errorf("%s with %s: gamma %v, want %v to %v", test.algorithm, test.compressor, got, test.least, test.most)
		}
	}
	explicit := assemble(t, "algorithm.gamma=0.7", "algorithm.name=choco", "algorithm.compressor.name=sign")
	if got := explicit.Config().Algorithm.Gamma; got != 0.7 {
		t.Errorf("explicit gamma 0.7: gamma %v", got)
	}
	if got := assemble(t).Config().Algorithm.Gamma; got != 0 {
		t.Errorf("an algorithm without gamma has %v", got)
	}
}

func TestGammaCountsParametersAsRatioCountsThem(t *testing.T) {
	byRatio := assemble(t, "algorithm.name=choco", "algorithm.compressor={name: topk, ratio: 0.1}")
	k := fmt.Sprintf("{name: topk, k: %d}", byRatio.Dim()/10)
	byCount := assemble(t, "algorithm.name=choco", "algorithm.compressor="+k)
	if a, b := byRatio.Config().Algorithm.Gamma, byCount.Config().Algorithm.Gamma; a != b {
		t.Errorf("a tenth: gamma %v, %s: gamma %v", a, k, b)
	}
}

func TestNoGammaForWhatLosesMoreThanItSends(t *testing.T) {
	areFound(t, []mistake{
		{"1 bit of minmax", []string{"algorithm.name=choco", "algorithm.compressor={name: minmax, bits: 1}"}, "--set",
			"choco with minmax has no stable gamma"},
		{"1 bit of minmax, fed back", []string{"algorithm.name=deepsqueeze", "algorithm.compressor={name: minmax, bits: 1}"},
			"--set", "take more bits; or give an algorithm.gamma of your own"},
		{"quantiles, which outliers spoil", []string{"algorithm.name=choco", "algorithm.compressor.name=linear_s"},
			"--set algorithm.compressor.name=linear_s", "set algorithm.compressor.scaled: true"},
		{"2 bits of amq", []string{"algorithm.name=deepsqueeze", "algorithm.compressor={name: amq, bits: 2}"},
			"--set algorithm.compressor=", "must be less than 1.2 times"},
		{"random-k that is amplified", []string{"algorithm.name=choco", "algorithm.compressor.name=randomk"},
			"--set algorithm.compressor.name=randomk", "set algorithm.compressor.scaled: true"},
	})
}
