package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"

	"gossiptrainer/internal/vec"
)

// Fingerprint returns a digest of sets, as 16 hexadecimal digits: their shape, classes, labels and values, in order. It
// depends on the values alone: neither the location of the files nor their compression counts.
func Fingerprint(sets ...Set) string {
	sum := sha256.New()
	for _, s := range sets {
		s.digest(sum)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// digest hashes a set. Lengths come first, so that no two lists of sets hash the same bytes.
func (s Set) digest(sum hash.Hash) {
	text := make([]byte, 0, 1<<16)
	floats := len(s.floats)
	if s.sparse != nil {
		floats = s.Len() * s.Shape.Features()
	}
	for _, n := range []int{s.Shape.H, s.Shape.W, s.Shape.C, len(s.Classes), s.Len(), len(s.bytes), floats} {
		text = binary.LittleEndian.AppendUint64(text, uint64(n))
	}
	for _, class := range s.Classes {
		text = binary.LittleEndian.AppendUint64(text, uint64(len(class)))
		text = append(text, class...)
	}
	sum.Write(text)
	sum.Write(s.labels)
	sum.Write(s.bytes)
	if s.sparse != nil {
		s.digestSparse(sum)
	}
	for floats := range slices.Chunk(s.floats, cap(text)/4) {
		sum.Write(vec.AppendLE(text[:0], floats))
	}
}

// digestSparse hashes sparse samples, as dense ones are hashed where these fit into memory.
func (s Set) digestSparse(sum hash.Hash) {
	row := make([]float32, s.Shape.Features())
	var text []byte
	for i, at := range s.sparse.spans {
		if s.Len()*len(row) <= libsvmDenseSize {
			s.Sample(row, i)
			text = vec.AppendLE(text[:0], row)
		} else {
			text = binary.LittleEndian.AppendUint64(text[:0], uint64(at.to-at.from))
			for _, index := range s.sparse.index[at.from:at.to] {
				text = binary.LittleEndian.AppendUint32(text, uint32(index))
			}
			text = vec.AppendLE(text, s.sparse.values[at.from:at.to])
		}
		sum.Write(text)
	}
}
