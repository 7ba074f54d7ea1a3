package entropy

import (
	"encoding/binary"
	"fmt"

	"gossiptrainer/quant"
)

// prefixLen is the size of the prefix.
const prefixLen = 15

// Offsets of its fields.
const (
	atCount  = 0
	atBucket = 4
	atLevels = 8 // N − 1; 0: words
	atHead   = 10
	atTail   = 12
	atWord   = 14 // 0: symbols
)

func appendPrefix(dst []byte, l quant.Layout) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(l.Count))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(l.Bucket))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(max(l.Levels, 1)-1))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(l.Head))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(l.Tail))
	return append(dst, byte(l.Word))
}

// parsePrefix returns the layout at the beginning of coded, for a payload of at most limit bytes, and the rest.
func parsePrefix(coded []byte, limit int) (l quant.Layout, rest []byte, err error) {
	if len(coded) < prefixLen {
		return l, nil, fmt.Errorf("%w: %d bytes, the prefix alone has %d", ErrCoded, len(coded), prefixLen)
	}
	l = quant.Layout{
		Count:  int(binary.LittleEndian.Uint32(coded[atCount:])),
		Bucket: int(binary.LittleEndian.Uint32(coded[atBucket:])),
		Head:   int(binary.LittleEndian.Uint16(coded[atHead:])),
		Tail:   int(binary.LittleEndian.Uint16(coded[atTail:])),
		Word:   int(coded[atWord]),
	}
	if top := int(binary.LittleEndian.Uint16(coded[atLevels:])); top > 0 {
		l.Levels = top + 1
	}
	if err := l.Check(); err != nil {
		return l, nil, fmt.Errorf("%w: %w", ErrCoded, err)
	}
	if n := l.Len(); n > limit {
		return l, nil, fmt.Errorf("%w: it announces %d bytes, at most %d", ErrCoded, n, limit)
	}
	return l, coded[prefixLen:], nil
}
