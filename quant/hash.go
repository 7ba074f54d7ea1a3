package quant

import "gossiptrainer/internal/kernel"

// HashIndices returns H(k): XXH64 with seed 0 over the indices as int32
// little-endian, in order. Equal hashes at both ends of a link mean that the
// receiver recovered every index of the sender.
func HashIndices(k []int32) uint64 {
	var h kernel.Hash
	h.Reset()
	kernel.Best().Hash(&h, k)
	return h.Sum()
}
