package conformance

import (
	"fmt"
	"testing"

	"gossiptrainer/quant"
)

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
		if got := fmt.Sprintf("%016x", quant.HashIndices(c.K)); got != c.XXH64 {
			t.Errorf("case %d, %d indices: %s, want %s", i, len(c.K), got, c.XXH64)
		}
	}
}
