package kernel

import (
	"encoding/binary"
	"testing"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"
)

func TestHashesAreXXH64InEveryTier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		streams := rapid.IntRange(1, 9).Draw(t, "streams")
		length := rapid.OneOf(rapid.IntRange(0, 40), rapid.Just(64), rapid.IntRange(0, 4096))
		pieces := rapid.SliceOfN(length, 0, 5).Draw(t, "pieces")
		source := rapid.Uint64().Draw(t, "source")
		for _, tier := range Available() {
			alone, together := make([]Hash, streams), make([]Hash, streams)
			bytes := make([][]byte, streams)
			for s := range streams {
				alone[s].Reset()
				together[s].Reset()
			}
			for i, n := range pieces {
				k := make([][]int32, streams)
				for s := range k {
					for _, v := range random(source+uint64(100*i+s), n) {
						k[s] = append(k[s], int32(v*(1<<32)))
						bytes[s] = binary.LittleEndian.AppendUint32(bytes[s], uint32(k[s][len(k[s])-1]))
					}
					tier.Hash(&alone[s], k[s])
				}
				tier.HashAll(together, k)
			}
			for s := range streams {
				if want := xxhash.Sum64(bytes[s]); alone[s].Sum() != want || together[s].Sum() != want {
					t.Fatalf("%v: %x alone, %x together, want %x", tier, alone[s].Sum(), together[s].Sum(), want)
				}
			}
		}
	})
}
