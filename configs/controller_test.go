package configs

import (
	"strings"
	"testing"
)

func TestControllersThatDoNotFit(t *testing.T) {
	tests := []struct {
		name, text   string
		line, column int
		want         string
	}{
		{"a controller that nobody knows", "algorithm: {controller: {name: mqgradd}}\n", 1, 32, "did you mean mqgrad?"},
		{"more bits than the most", "algorithm: {controller: {name: mqgrad, min_bits: 9}}\n", 1, 50,
			"9 bits are more than the largest number, 8"},
		{"fewer bits than the fewest", "algorithm: {controller: {max_bits: 1, name: oland-raj}}\n", 1, 36,
			"2 bits are more than the largest number, 1"},
		{"0 bits", "algorithm: {controller: {min_bits: 0}}\n", 1, 36, "must be at least 1"},
		{"17 bits", "algorithm: {controller: {max_bits: 17}}\n", 1, 36, "must be at most 16"},
		{"adpsgd", "algorithm: {name: adpsgd, theta: {rule: fixed, value: 1}, controller: {name: mqgrad}}\n", 1, 78,
			"no round in which all could switch bits: must be fix, got mqgrad"},
		{"a ring of full precision", "algorithm: {name: allreduce, controller: {name: oland-raj}}\n", 1, 49,
			"allreduce sends full precision and has no bits to choose: must be fix, got oland-raj"},
		{"levels", "algorithm: {levels: 5, controller: {name: oland-raj}}\n", 1, 43, "the run file gives levels"},
		{"levels of a compressor", "algorithm: {name: allreduce, reduce: allgather, controller: {name: mqgrad}, " +
			"compressor: {levels: 5}}\n", 1, 68, "the run file gives levels"},
		{"full precision", "algorithm: {codec: full, controller: {name: oland-raj}}\n", 1, 45,
			"dpsgd in full precision has no bits to choose"},
		{"32 bits", "algorithm: {name: d2, bits: 32, controller: {name: mqgrad}}\n", 1, 52,
			"d2 in full precision has no bits to choose"},
		{"1 bit with stochastic rounding", "algorithm: {rounding: stochastic, controller: {name: mqgrad, min_bits: 1}}\n", 1,
			72, "stochastic rounding needs at least 3 levels"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := load(t, test.text)
			all := problems(t, err)
			if len(all) != 1 {
				t.Fatalf("want 1 problem, got %d: %v", len(all), err)
			}
			if p := all[0]; p.Line != test.line || p.Column != test.column || !strings.Contains(p.Message+p.Hint, test.want) {
				t.Errorf("want %q at %d:%d, got %v", test.want, test.line, test.column, p)
			}
		})
	}
}

func TestARangeOfBitsNeedsAController(t *testing.T) {
	_, err := load(t, "algorithm: {levels: 5, controller: {min_bits: 8, max_bits: 2}}\n")
	if p := problems(t, err); len(p) != 1 || p[0].Column != 47 || !strings.Contains(p[0].Message, "nor has max_bits") {
		t.Errorf("want one problem with both bounds, got %v", err)
	}
}
