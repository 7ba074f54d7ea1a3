// Package still leaves out of payloads what has not changed since the start of a run: tables, and statistics of layers
// that do not learn. All workers have the start, so a receiver fills the gaps. Where a message has differences of
// models, the same parts are 0, and they are left out as well. Values decide, bit by bit: as soon as a part changes on
// a worker, it travels from there.
//
// The coded form of a payload describes itself:
//
//	length, at, first, sum, runs u32 │ runs × u32 │ bytes
//
// The runs divide the numbers, 4 bytes each, that begin at byte at of the payload. The lower two bits of a run are its
// kind, and the others count its numbers. The numbers of kind 0 follow. Those of kind 1 are those of the start, the
// first of which is number first. Those of kind 2 are 0. The bytes are those of the payload without the runs of the
// kinds 1 and 2.
// docs/format/payloads.md#still-parts has a worked example.
package still

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"gossiptrainer/internal/vec"
	"gossiptrainer/internal/wire/entropy"
)

// Coder is the number in the header of a frame whose payload is coded here. It follows those of the entropy coders.
const Coder entropy.Coder = 5

const (
	floatBytes = 4
	headLen    = 5 * 4
	kindBits   = 2
	// shortest is the fewest numbers that a run leaves out.
	shortest = 16
	// longest is the most numbers of a run.
	longest = math.MaxUint32 >> kindBits
)

// The kinds of a run.
const (
	told = iota
	begun
	zero
)

// A Start is what the parts of all workers were at the start of the run. It does not change.
type Start struct {
	bytes []byte
	sum   uint32
}

// New returns the Start of these numbers, nil for none.
func New(x []float32) *Start {
	if len(x) == 0 {
		return nil
	}
	s := &Start{bytes: vec.AppendLE(nil, x)}
	s.sum = crc32.Checksum(s.bytes, crc32.MakeTable(crc32.Castagnoli))
	return s
}

// A Span is the part of a payload that may have stood still: numbers from byte At on, the first of which is number
// First of the start.
type Span struct {
	At, First, Count int
	// Again says that another piece of the message has the same parameters of the model.
	Again bool
}

// check returns an error unless the span lies in a payload of n bytes.
func (p Span) check(n int) error {
	if p.At < 0 || p.First < 0 || p.Count < 0 || p.At > n || p.Count > (n-p.At)/floatBytes {
		return fmt.Errorf("%w: %d numbers from byte %d on of %d", entropy.ErrCoded, p.Count, p.At, n)
	}
	return nil
}

// Encode appends the coded form of payload to dst, and reports whether it is shorter. If not, it returns dst unchanged.
func (s *Start) Encode(dst, payload []byte, p Span) ([]byte, bool) {
	if s == nil || p.Count < shortest || p.check(len(payload)) != nil {
		return dst, false
	}
	begin := len(dst)
	for _, v := range [...]int{len(payload), p.At, p.First, int(s.sum), 0} {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	part, known := payload[p.At:p.At+floatBytes*p.Count], s.from(p.First)
	runs := 0
	run := func(count int, kind uint32) {
		for ; count > 0; count, runs = count-min(count, longest), runs+1 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(min(count, longest))<<kindBits|kind)
		}
	}
	literal := 0
	for at := 0; at < len(part); {
		same, empty := equal(part[at:], known[min(at, len(known)):]), zeros(part[at:])
		if max(same, empty) < shortest {
			literal, at = literal+1, at+floatBytes
			continue
		}
		run(literal, told)
		literal = 0
		if same >= empty {
			run(same, begun)
		} else {
			run(empty, zero)
		}
		at += floatBytes * max(same, empty)
	}
	run(literal, told)
	binary.LittleEndian.PutUint32(dst[begin+headLen-4:], uint32(runs))
	list := dst[begin+headLen:]
	dst = append(dst, payload[:p.At]...)
	for at := p.At; len(list) > 0; list = list[4:] {
		count, kind := parse(list)
		if kind == told {
			dst = append(dst, payload[at:at+floatBytes*count]...)
		}
		at += floatBytes * count
	}
	dst = append(dst, payload[p.At+len(part):]...)
	if len(dst)-begin >= len(payload) {
		return dst[:begin], false
	}
	return dst, true
}

// from returns the bytes from a number on.
func (s *Start) from(first int) []byte { return s.bytes[min(floatBytes*first, len(s.bytes)):] }

// parse returns the first run of a list.
func parse(list []byte) (count int, kind uint32) {
	run := binary.LittleEndian.Uint32(list)
	return int(run >> kindBits), run & (1<<kindBits - 1)
}

// blockLen is how many bytes are compared at once.
const blockLen = 1024

// equal returns with how many equal numbers a and b begin.
func equal(a, b []byte) (count int) {
	for len(a) >= blockLen && len(b) >= blockLen && bytes.Equal(a[:blockLen], b[:blockLen]) {
		a, b, count = a[blockLen:], b[blockLen:], count+blockLen/floatBytes
	}
	for len(a) >= floatBytes && len(b) >= floatBytes &&
		binary.LittleEndian.Uint32(a) == binary.LittleEndian.Uint32(b) {
		a, b, count = a[floatBytes:], b[floatBytes:], count+1
	}
	return count
}

// zeros returns with how many zeros a begins.
func zeros(a []byte) (count int) {
	for len(a) >= blockLen && a[0] == 0 && bytes.Equal(a[:blockLen-1], a[1:blockLen]) { // all bytes are the first one
		a, count = a[blockLen:], count+blockLen/floatBytes
	}
	for len(a) >= floatBytes && binary.LittleEndian.Uint32(a) == 0 {
		a, count = a[floatBytes:], count+1
	}
	return count
}

// Len returns the length of the payload that coded announces. It refuses more than limit with entropy.ErrCoded.
func Len(coded []byte, limit int) (int, error) {
	if len(coded) < headLen {
		return 0, fmt.Errorf("%w: %d bytes, its head alone has %d", entropy.ErrCoded, len(coded), headLen)
	}
	n := int64(binary.LittleEndian.Uint32(coded))
	if n > int64(limit) {
		return 0, fmt.Errorf("%w: it announces %d bytes, at most %d", entropy.ErrCoded, n, limit)
	}
	return int(n), nil
}

// Decode fills payload, of the length that Len returned. It fails with entropy.ErrCoded on bytes that no Encode of this
// start writes; the content of payload is then undefined.
func (s *Start) Decode(payload, coded []byte) error {
	if n, err := Len(coded, len(payload)); err != nil || n != len(payload) {
		return fmt.Errorf("%w: not a payload of %d bytes", entropy.ErrCoded, len(payload))
	}
	field := func(i int) int { return int(binary.LittleEndian.Uint32(coded[4*i:])) }
	p, runs := Span{At: field(1), First: field(2)}, field(4)
	if s == nil || uint32(field(3)) != s.sum {
		return fmt.Errorf("%w: the sender has begun with other values: start all workers from one run folder, or with "+
			"the same script", entropy.ErrCoded)
	}
	if err := p.check(len(payload)); err != nil {
		return err
	}
	if runs < 0 || runs > (len(coded)-headLen)/4 {
		return fmt.Errorf("%w: %d runs in %d bytes", entropy.ErrCoded, runs, len(coded))
	}
	list, rest := coded[headLen:headLen+4*runs], coded[headLen+4*runs:]
	if len(rest) < p.At {
		return errCutOff()
	}
	copy(payload, rest[:p.At])
	at, rest, err := s.fill(payload, p, list, rest[p.At:])
	if err != nil {
		return err
	}
	if len(rest) != len(payload)-at {
		return fmt.Errorf("%w: %d bytes after the runs, not %d", entropy.ErrCoded, len(rest), len(payload)-at)
	}
	copy(payload[at:], rest)
	return nil
}

// fill fills the runs of a payload. It returns where they end, and the bytes that belong to no run.
func (s *Start) fill(payload []byte, p Span, list, given []byte) (at int, rest []byte, err error) {
	known := s.from(p.First)
	for at = p.At; len(list) > 0; list = list[4:] {
		count, kind := parse(list)
		if count > (len(payload)-at)/floatBytes {
			return 0, nil, fmt.Errorf("%w: a run of %d numbers from byte %d on of %d", entropy.ErrCoded, count, at,
				len(payload))
		}
		room := payload[at : at+floatBytes*count]
		switch kind {
		case told:
			if len(given) < len(room) {
				return 0, nil, errCutOff()
			}
			given = given[copy(room, given):]
		case begun:
			if copy(room, known[min(at-p.At, len(known)):]) < len(room) {
				return 0, nil, fmt.Errorf("%w: a run of %d numbers beyond a start of %d", entropy.ErrCoded, count,
					len(s.bytes)/floatBytes)
			}
		case zero:
			clear(room)
		default:
			return 0, nil, fmt.Errorf("%w: a run of kind %d", entropy.ErrCoded, kind)
		}
		at += len(room)
	}
	return at, given, nil
}

func errCutOff() error { return fmt.Errorf("%w: it is cut off", entropy.ErrCoded) }
