package runfolder

import (
	"testing"

	"gossiptrainer/configs"
	"gossiptrainer/internal/explain"
)

// Only a controller has bounds of bits: a run of fixed bits is never told that they are at one.
func TestFactsOfARunFile(t *testing.T) {
	for name, test := range map[string]struct {
		change func(c *configs.Config)
		want   explain.Facts
	}{
		"fixed bits":    {func(*configs.Config) {}, explain.Facts{Workers: 8}},
		"no controller": {func(c *configs.Config) { c.Algorithm.Controller.Name = "" }, explain.Facts{Workers: 8}},
		"controller": {func(c *configs.Config) { c.Algorithm.Controller.Name = "mqgrad" },
			explain.Facts{Workers: 8, LeastBits: 2, MostBits: 8}},
		"entropy": {func(c *configs.Config) { c.Wire.Entropy = "auto" }, explain.Facts{Workers: 8, Entropy: true}},
	} {
		loaded, err := configs.Load(configs.Source{File: "ring8"})
		if err != nil {
			t.Fatal(err)
		}
		cfg := loaded.Config
		cfg.Algorithm.Controller.MinBits, cfg.Algorithm.Controller.MaxBits = 2, 8
		test.change(&cfg)
		if got := Facts(cfg); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
