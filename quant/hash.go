package quant

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// HashIndices returns H(k): XXH64 with seed 0 over the indices as int32
// little-endian, in order. Equal hashes at both ends of a link mean that the
// receiver recovered every index of the sender.
func HashIndices(k []int32) uint64 {
	var (
		digest xxhash.Digest
		chunk  [1024]byte
	)
	digest.Reset()
	for len(k) > 0 {
		n := min(len(k), len(chunk)/4)
		for i, v := range k[:n] {
			binary.LittleEndian.PutUint32(chunk[4*i:], uint32(v))
		}
		digest.Write(chunk[:4*n])
		k = k[n:]
	}
	return digest.Sum64()
}
