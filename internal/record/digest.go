package record

import (
	"crypto/sha256"

	"gossiptrainer/internal/vec"
)

// Digest returns the SHA-256 of a model: of its float32 values in little-endian order. It does not copy the model.
func Digest(x []float32) [sha256.Size]byte {
	const piece = 1024
	h := sha256.New()
	buf := make([]byte, 0, 4*piece)
	for len(x) > 0 {
		n := min(piece, len(x))
		h.Write(vec.AppendLE(buf, x[:n]))
		x = x[n:]
	}
	var d [sha256.Size]byte
	h.Sum(d[:0])
	return d
}

// RunDigest returns the SHA-256 over the digests of all workers' models, in rank order.
func RunDigest(models [][sha256.Size]byte) [sha256.Size]byte {
	h := sha256.New()
	for i := range models {
		h.Write(models[i][:])
	}
	var d [sha256.Size]byte
	h.Sum(d[:0])
	return d
}
