package conformance

import (
	"fmt"
	"testing"

	"gossiptrainer/internal/kernel"
)

// hashOf returns the hash that ends a message with the indices k.
func hashOf(k []int32) string {
	var h kernel.Hash
	h.Reset()
	kernel.Best().Hash(&h, k)
	return fmt.Sprintf("%016x", h.Sum())
}

func TestConformanceHash(t *testing.T) {
	var file struct {
		Cases []struct {
			K     []int32
			XXH64 string
		}
	}
	Load(t, "hash.json", &file)
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for i, c := range file.Cases {
		if got := hashOf(c.K); got != c.XXH64 {
			t.Errorf("case %d, %d indices: %s, want %s", i, len(c.K), got, c.XXH64)
		}
	}
}
