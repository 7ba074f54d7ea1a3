package configs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// LoadComparison never panics, says where what it refuses stands, and what it accepts has cells whose names differ.
func FuzzLoadComparison(f *testing.F) {
	f.Add(smallComparison)
	for _, text := range []string{
		"", "name: [", "base: ring8\nalgorithms: 3\n",
		"name: a\nbase: b\nalgorithms: [{label: x}, {label: X}]\nseeds: [1, 1]\n",
		"name: a\nbase: b\nalgorithms: [{label: x, gamma: \"tune()\"}]\nbudget: {rounds: -1}\n", "networks: [{rate: 0}]",
	} {
		f.Add(text)
	}
	file := filepath.Join(f.TempDir(), "comparison.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := LoadComparison(file, nil)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || len(e.Problems) == 0 || e.Problems[0].Message == "" {
				t.Fatalf("not a located error: %v", err)
			}
			return
		}
		seen := make(map[string]bool)
		for _, cell := range c.Cells() {
			if id := cell.ID(); seen[id] {
				t.Errorf("two cells are named %s", id)
			} else {
				seen[id] = true
			}
		}
	})
}
