package quant

import (
	"encoding/binary"
	"testing"

	"github.com/cespare/xxhash/v2"
)

func TestHashIndicesIsXXH64OfTheirBytes(t *testing.T) {
	for _, d := range []int{0, 1, 7, 255, 256, 257, 1000} {
		k := make([]int32, d)
		var text []byte
		for i := range k {
			k[i] = int32(i * -77777777)
			text = binary.LittleEndian.AppendUint32(text, uint32(k[i]))
		}
		if got, want := HashIndices(k), xxhash.Sum64(text); got != want {
			t.Errorf("%d indices: %x, want %x", d, got, want)
		}
	}
}

func TestHashIndicesDoesNotAllocate(t *testing.T) {
	k := make([]int32, 3000)
	if allocs := testing.AllocsPerRun(10, func() { HashIndices(k) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
