package quant

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// HashIndices returns H(k): XXH64 with seed 0 over the indices as int32
// little-endian, in order. Equal hashes at both ends of a link mean that the
// receiver recovered every index of the sender.
func HashIndices(k []int32) uint64 {
	var h IndexHash
	h.Reset()
	h.Write(k)
	return h.Sum()
}

// An IndexHash is HashIndices of indices that come piece by piece.
type IndexHash struct{ digest xxhash.Digest }

// Reset begins anew. It must be called before the first Write.
func (h *IndexHash) Reset() { h.digest.Reset() }

// Write continues with the indices k.
func (h *IndexHash) Write(k []int32) {
	var chunk [1024]byte
	for len(k) > 0 {
		n := min(len(k), len(chunk)/4)
		for i, v := range k[:n] {
			binary.LittleEndian.PutUint32(chunk[4*i:], uint32(v))
		}
		h.digest.Write(chunk[:4*n])
		k = k[n:]
	}
}

// Sum returns the hash of all indices since Reset.
func (h *IndexHash) Sum() uint64 { return h.digest.Sum64() }
