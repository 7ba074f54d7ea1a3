package configs

import "testing"

func TestAMethodNamesAlgorithmCodecAndCompressor(t *testing.T) {
	for _, c := range []struct {
		want string
		set  []string
	}{
		{"D-PSGD, 8-bit Moniqua", []string{"algorithm.bits=8"}},
		{"D-PSGD, full precision", []string{"algorithm.bits=32"}},
		{"D-PSGD, 3-level Moniqua", []string{"algorithm.levels=3"}},
		{"ChocoSGD, sign", []string{"algorithm.name=choco", "algorithm.compressor.name=sign"}},
		{"all-reduce, all-gather, 4-bit qsgd", []string{"algorithm.name=allreduce", "algorithm.reduce=allgather",
			"algorithm.compressor.bits=4"}},
		{"D-PSGD, 2- to 6-bit Moniqua, chosen by oland-raj", []string{"algorithm.controller.name=oland-raj",
			"algorithm.controller.min_bits=2", "algorithm.controller.max_bits=6"}},
	} {
		loaded, err := Load(Source{File: "ring8", Set: c.set})
		if err != nil {
			t.Errorf("%v: %v", c.set, err)
			continue
		}
		if got := loaded.Config.Method().String(); got != c.want {
			t.Errorf("%v: %q, want %q", c.set, got, c.want)
		}
	}
}
