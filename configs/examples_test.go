package configs

import (
	"path/filepath"
	"strings"
	"testing"
)

// The run files of examples/algorithms load, each with the algorithm of its name.
func TestExamplesOfAlgorithmsLoad(t *testing.T) {
	files, err := filepath.Glob("../examples/algorithms/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples (%v)", err)
	}
	for _, file := range files {
		l, err := Load(Source{File: file})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if c := l.Config; c.Name != name || c.Algorithm.Name != name {
			t.Errorf("%s: run %s of the algorithm %s, want both %s", file, c.Name, c.Algorithm.Name, name)
		}
	}
}
