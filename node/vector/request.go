package vector

import (
	"encoding/binary"
	"hash/crc32"
)

// maxTag bounds a tag, in bytes.
const maxTag = 32

// maxElements bounds the elements of a vector.
const maxElements = 1 << 40

// A Request asks for some elements of a vector. docs/format/vectors.md has its bytes.
type Request struct {
	Tag         string
	Call        uint64 // number in a series, from 1; 0 without a series
	Elements    uint64 // of the whole vector
	From, Count uint64 // elements that are wanted
}

func (r Request) key() key { return key{r.Tag, r.Call} }

// whole asks for a vector of n elements.
func whole(k key, n int) Request {
	return Request{Tag: k.tag, Call: k.call, Elements: uint64(n), Count: uint64(n)}
}

// The layout is little-endian: elements u64, from u64, count u64, call u64, then the tag.
const (
	requestFixed = 4 * 8
	requestMax   = requestFixed + maxTag
)

// Append encodes r.
func (r Request) Append(dst []byte) []byte {
	for _, v := range [...]uint64{r.Elements, r.From, r.Count, r.Call} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return append(dst, r.Tag...)
}

// ParseRequest decodes the request of a member.
func ParseRequest(b []byte) (r Request, ok bool) {
	if len(b) <= requestFixed || len(b) > requestMax {
		return r, false
	}
	for i, v := range [...]*uint64{&r.Elements, &r.From, &r.Count, &r.Call} {
		*v = binary.LittleEndian.Uint64(b[8*i:])
	}
	for _, c := range b[requestFixed:] {
		if c < ' ' || c > '~' {
			return r, false
		}
	}
	r.Tag = string(b[requestFixed:])
	return r, r.Elements <= maxElements && r.From <= r.Elements && r.Count <= r.Elements-r.From
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum begins the checksum of an answer, which covers the request and the values.
func (r Request) checksum() uint32 { return crc32.Checksum(r.Append(nil), castagnoli) }
