package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTheGeneratedFilesAreUpToDate(t *testing.T) {
	for _, topic := range topics() {
		files, err := topic.files()
		if err != nil {
			t.Fatalf("%s: %v", topic.name, err)
		}
		for name, want := range files {
			got, err := os.ReadFile(filepath.Join("..", name))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s is not what the generator writes: run go generate ./internal/kernel (%v)", name, err)
			}
		}
	}
}

func TestEveryAssemblyFileIsGenerated(t *testing.T) {
	known := map[string]bool{}
	for _, topic := range topics() {
		known[topic.name+"_amd64.s"] = true
	}
	found, err := filepath.Glob(filepath.Join("..", "*.s"))
	if err != nil || len(found) == 0 {
		t.Fatalf("%d files, %v", len(found), err)
	}
	for _, name := range found {
		if !known[filepath.Base(name)] {
			t.Errorf("%s belongs to no topic", name)
		}
	}
}
