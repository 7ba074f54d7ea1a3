package vector

import (
	"encoding/binary"
	"hash/crc32"
)

// maxTag bounds a tag, in bytes.
const maxTag = 32

// maxElements bounds the elements of a vector.
const maxElements = 1 << 40

// A request asks for some elements of a vector.
type request struct {
	key
	elements    uint64 // of the whole vector
	from, count uint64
}

// whole asks for a vector of n elements.
func whole(k key, n int) request { return request{key: k, elements: uint64(n), count: uint64(n)} }

// The layout is little-endian: elements u64, from u64, count u64, call u64, then the tag.
const (
	requestFixed = 4 * 8
	requestMax   = requestFixed + maxTag
)

func (r request) append(dst []byte) []byte {
	for _, v := range [...]uint64{r.elements, r.from, r.count, r.call} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return append(dst, r.tag...)
}

// parseRequest decodes the request of a member.
func parseRequest(b []byte) (r request, ok bool) {
	if len(b) <= requestFixed || len(b) > requestMax {
		return r, false
	}
	for i, v := range [...]*uint64{&r.elements, &r.from, &r.count, &r.call} {
		*v = binary.LittleEndian.Uint64(b[8*i:])
	}
	for _, c := range b[requestFixed:] {
		if c < ' ' || c > '~' {
			return r, false
		}
	}
	r.tag = string(b[requestFixed:])
	return r, r.elements <= maxElements && r.from <= r.elements && r.count <= r.elements-r.from
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum begins the checksum of an answer, which covers the request and the values.
func (r request) checksum() uint32 { return crc32.Checksum(r.append(nil), castagnoli) }
