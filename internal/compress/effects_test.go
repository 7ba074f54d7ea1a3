package compress

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gossiptrainer/configs"
	"gossiptrainer/internal/registry"
	"gossiptrainer/quant"
)

// The table of effects agrees with the compressors: a setting has an effect exactly if it changes the compressor.
func TestSettingsOfCompressorsHaveTheEffectsOfTheTable(t *testing.T) {
	settings := map[string]struct {
		text   string
		change func(c *configs.Compressor)
	}{
		"bits":        {"5", func(c *configs.Compressor) { c.Bits = 5 }},
		"levels":      {"17", func(c *configs.Compressor) { c.Levels = 17 }},
		"variant":     {"sym", func(c *configs.Compressor) { c.Variant = "sym" }},
		"table":       {"[0, 0.25, 0.5, 1]", func(c *configs.Compressor) { c.Table = []float64{0, 0.25, 0.5, 1} }},
		"rule":        {"lloyd", func(c *configs.Compressor) { c.Rule = "lloyd" }},
		"mode":        {"stochastic", func(c *configs.Compressor) { c.Mode = "stochastic" }},
		"step":        {"0.5", func(c *configs.Compressor) { c.Step = 0.5 }},
		"k":           {"7", func(c *configs.Compressor) { c.K = 7 }},
		"ratio":       {"0.5", func(c *configs.Compressor) { c.Ratio = 0.5 }},
		"norm":        {"l2", func(c *configs.Compressor) { c.Norm = "l2" }},
		"bucket":      {"100", func(c *configs.Compressor) { c.Bucket = 100 }},
		"clip":        {"2.5", func(c *configs.Compressor) { c.Clip = 2.5 }},
		"refit_at":    {"[5]", func(c *configs.Compressor) { c.RefitAt = []int{5} }},
		"refit_every": {"9", func(c *configs.Compressor) { c.RefitEvery = 9 }},
	}
	for _, name := range registry.CompressorNames("") {
		base := configs.Default().Algorithm.Compressor
		base.Name = name
		set := []string{"algorithm.name=naive", "algorithm.compressor.name=" + name}
		if name == "levels" {
			base.Table = []float64{0, 1}
			set = append(set, "algorithm.compressor.table=[0, 1]")
		}
		plain := made(t, base)
		for key, setting := range settings {
			if name == "levels" && key == "variant" {
				continue // needs another table as well
			}
			changed := base
			setting.change(&changed)
			another, err := New(changed, 1000, 1)
			differs := err == nil && !cmp.Equal(plain, another, fieldsButFunctions)
			if key == "levels" && strings.HasPrefix(name, "amq") { // without a level 0
				changed.Levels, setting.text = 18, "18"
				another, err = New(changed, 1000, 1)
				differs = err == nil && !cmp.Equal(plain, another, fieldsButFunctions)
			}
			_, err = configs.Load(configs.Source{Set: append(set, "algorithm.compressor."+key+"="+setting.text)})
			var e *configs.Error
			refused := errors.As(err, &e) && strings.HasPrefix(e.Problems[0].Message, "has no effect")
			if differs == refused {
				t.Errorf("%s: %s changes the compressor: %v, but the run file says %v", name, key, differs, err)
			}
		}
	}
}

// fieldsButFunctions compares the fields of a compressor, exported or not.
var fieldsButFunctions = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type().Kind() == reflect.Func }, cmp.Ignore()),
}

func made(t *testing.T, c configs.Compressor) quant.Compressor {
	t.Helper()
	first, err := New(c, 1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	second, err := New(c, 1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(first, second, fieldsButFunctions) {
		t.Fatalf("%s: two of the same settings differ: this test sees nothing", c.Name)
	}
	return first
}
