package configs

import (
	"strings"

	"gossiptrainer/quant"
)

// compressorRules say which settings a compressor cannot have. What follows
// from properties of the compressor itself, like scaling, is asked where it is
// made.
var compressorRules = []rule{
	{[]string{"algorithm.compressor.bits", "algorithm.compressor.name"}, func(c *Config, wrong complain) {
		a := c.Algorithm.Compressor
		signed := a.Name == "qsgd" || a.Name == "nuqsgd" || adaptive(a.Name)
		if signed && (a.Bits < 2 || a.Bits > 8) {
			wrong("algorithm.compressor.bits", "%s needs 2 to 8 bits, got %d", a.Name, a.Bits)
		}
	}},
	{[]string{"algorithm.compressor.refit_at"}, func(c *Config, wrong complain) {
		for _, k := range c.Algorithm.Compressor.RefitAt {
			if k < 0 {
				wrong("algorithm.compressor.refit_at", "the levels cannot be fitted in round %d: rounds count from 0", k)
			}
		}
	}},
	{[]string{"algorithm.compressor.levels", "algorithm.compressor.name"}, func(c *Config, wrong complain) {
		a := c.Algorithm.Compressor
		if a.Name == "orq" && (a.Levels < 3 || a.Levels > 129 || (a.Levels-1)&(a.Levels-2) != 0) {
			wrong("algorithm.compressor.levels", "orq needs 3, 5, 9, 17, 33, 65 or 129 levels, got %d", a.Levels)
		}
	}},
	{[]string{"algorithm.compressor.table", "algorithm.compressor.variant", "algorithm.compressor.name"}, func(c *Config, wrong complain) {
		a := c.Algorithm.Compressor
		if a.Name != "levels" {
			return
		}
		form, err := quant.ParseForm(a.Variant)
		if err == nil {
			_, err = quant.Table{Form: form, Levels: a.Table}.Bits()
		}
		if err != nil {
			wrong("algorithm.compressor.table", "the compressor levels cannot use the table: %v", err)
		}
	}},
}

// adaptive says whether a compressor fits its levels while the run goes on.
func adaptive(name string) bool {
	return strings.HasPrefix(name, "alq") || strings.HasPrefix(name, "amq")
}
