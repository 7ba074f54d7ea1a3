// Package conformance tests the code against the reference vectors, with one test file per kind of vector file. It
// contains no product code.
package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the folder of the reference vectors: $VECTORS, or the copy in
// the repository.
func Dir() string {
	if dir := os.Getenv("VECTORS"); dir != "" {
		return dir
	}
	return filepath.Join("testdata", "vectors")
}

// Load decodes the vector file name, a path below Dir, into v.
func Load(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Dir(), name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
