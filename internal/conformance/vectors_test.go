package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the folder of the reference vectors: $VECTORS, or the copy in
// the repository.
func Dir() string { return folder("VECTORS", "vectors") }

// Dir2 returns the folder of the second set of reference vectors: $VECTORS2, or the copy in the repository.
func Dir2() string { return folder("VECTORS2", "vectors2") }

// Dir3 returns the folder of the third set of reference vectors: $VECTORS3, or the copy in the repository.
func Dir3() string { return folder("VECTORS3", "vectors3") }

func folder(variable, name string) string {
	if dir := os.Getenv(variable); dir != "" {
		return dir
	}
	return filepath.Join("testdata", name)
}

// Load decodes the vector file name, a path below Dir, into v.
func Load(t *testing.T, name string, v any) {
	t.Helper()
	load(t, filepath.Join(Dir(), name), v)
}

// Load2 is Load of the second set.
func Load2(t *testing.T, name string, v any) {
	t.Helper()
	load(t, filepath.Join(Dir2(), name), v)
}

// Load3 is Load of the third set.
func Load3(t *testing.T, name string, v any) {
	t.Helper()
	load(t, filepath.Join(Dir3(), name), v)
}

func load(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
