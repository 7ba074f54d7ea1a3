package configs

import (
	"gossiptrainer/internal/registry"
)

// compressorRules refuse settings that a compressor cannot have. Its constructor checks properties of the compressor
// itself, like scaling.
var compressorRules = []rule{
	{[]string{"algorithm.compressor.bits", "algorithm.compressor.name"}, func(c *Config, wrong complain) {
		row, bits := c.compressor(), c.Algorithm.Compressor.Bits
		if r := row.Bits; row.Has("bits") && (bits < r.Least || bits > r.Most) {
			wrong("algorithm.compressor.bits", "%s needs %d to %d bits, got %d", row.Name, r.Least, r.Most, bits)
		}
	}},
	{[]string{"algorithm.compressor.levels", "algorithm.compressor.bits", "algorithm.compressor.name",
		"algorithm.controller.name"}, func(c *Config, wrong complain) {
		n, bits, row := c.Algorithm.Compressor.Levels, c.Algorithm.Compressor.Bits, c.compressor()
		switch controller := c.Algorithm.Controller.Name; {
		case !row.Has("levels") || !row.Has("bits") || n < 2:
		case controller != "fix":
			wrong("algorithm.controller.name",
				"%s chooses bits, but the run file gives levels: must be fix, or no levels, got %d", controller, n)
		case bits != bitsOf(n):
			wrong("algorithm.compressor.levels", "%d levels need %d bits, but bits is %d: give one of the two", n, bitsOf(n),
				bits)
		}
	}},
	{[]string{"algorithm.compressor.refit_at"}, func(c *Config, wrong complain) {
		for _, k := range c.Algorithm.Compressor.RefitAt {
			if k < 0 {
				wrong("algorithm.compressor.refit_at", "the levels cannot be fitted in round %d: rounds count from 0", k)
			}
		}
	}},
	checked("levels", "variant"),
	checked("table", "variant"),
}

// checked is the rule of a setting that the row of the compressor checks, perhaps together with other settings.
func checked(setting string, others ...string) rule {
	const section = "algorithm.compressor."
	keys := []string{section + setting}
	for _, other := range others {
		keys = append(keys, section+other)
	}
	return rule{append(keys, section+"name"), func(c *Config, wrong complain) {
		row := c.compressor()
		if row.Check == nil {
			return
		}
		if wrongOne, why := row.Check(registry.CompressorSettings(c.Algorithm.Compressor)); wrongOne == setting {
			wrong(section+setting, "%s", why)
		}
	}}
}
