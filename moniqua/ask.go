package moniqua

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
)

// Most wrong pieces are wrong in few coordinates. So a receiver asks with the number of coordinates of the piece, 4
// bytes, and with hashes of the quotients that it has recovered. There is one for each span of a block. The sender
// answers with the spans that differ. Such a repair begins with a width that no block has. A block is then a mask of
// the spans that follow, one byte. Unless that is 0, minimum and width of the block and the bits of these spans follow.

const (
	// spanLen is the length of a span. Longer ones cost bytes that the receiver has, shorter ones cost hashes.
	spanLen  = 256
	countLen = 4
	// ofSpans begins a repair of spans.
	ofSpans = "\x00\x00\x00\x00\xff"
)

// spans returns the number of spans of n coordinates in blocks of block coordinates each.
func spans(n, block int) int {
	each := (block + spanLen - 1) / spanLen
	return n/block*each + (n%block+spanLen-1)/spanLen
}

// sumOf returns the hash of the quotients of a span.
func sumOf(m []int32, tier kernel.Tier) uint64 {
	var h kernel.Hash
	h.Reset()
	tier.Hash(&h, m)
	return h.Sum()
}

// ask returns the request for the repair of a message that x has recovered. It is nil where all of it is one span.
func (r *round) ask(x []float32, payload []byte) ([]byte, error) {
	if len(x) <= spanLen {
		return nil, nil
	}
	asked := make([]byte, countLen, countLen+HashLen*spans(len(x), r.block))
	binary.LittleEndian.PutUint32(asked, uint32(len(x)))
	err := r.eachRecovered(x, payload, func(m []int32) error {
		for part := range slices.Chunk(m, spanLen) {
			asked = binary.LittleEndian.AppendUint64(asked, sumOf(part, r.tier))
		}
		return nil
	})
	return asked, err
}

// eachRecovered gives take the quotients of each block of a message, as x recovers them, in memory of take.
func (r *round) eachRecovered(x []float32, payload []byte, take func(m []int32) error) error {
	var (
		indices   [checkedIndices * blockLen]int32
		bytes     [checkedBytes * blockLen]byte
		quantizer kernel.Quantizer
		m         laneChecker
	)
	if r.width > 0 {
		owns := r.encode.lanes(&quantizer, kernel.OfIndices, r.width, len(x))
		m = newLaneChecker(r, len(x), owns, coding{indices[:], bytes[:]})
	}
	for first := 0; first < len(x); first += r.block {
		part := x[first:min(first+r.block, len(x))]
		quotients := indices[blockLen:][:len(part)]
		if r.width > 0 && m.ownIndices(part, first) {
			if err := m.recover(quotients, part, payload, first); err != nil {
				return err
			}
			for i, k := range quotients {
				quotients[i] = k >> r.width
			}
		} else if err := r.recovered(quotients, part, first, payload); err != nil {
			return err
		}
		if err := take(quotients); err != nil {
			return err
		}
	}
	return nil
}

// recovered writes the quotients of a block of a message, as x recovers them, to dst.
func (r *round) recovered(dst []int32, x []float32, first int, payload []byte) error {
	var (
		index                [blockLen]int64
		low, symbols, places [blockLen]uint16
		n                    = len(dst)
	)
	if at := r.windows.round(index[:n], x[:n], first); at >= 0 {
		return r.strange(x[at], first+at)
	}
	r.divisor.residues(low[:n], index[:n])
	if err := r.packing.Unpack(symbols[:n], payload[r.packing.Len(first):r.packing.Len(first+n)]); err != nil {
		return fmt.Errorf("moniqua: internal error: %w", err)
	}
	place(places[:n], symbols[:n], low[:n], int32(r.grid.Levels))
	for i, p := range places[:n] {
		index[i] += int64(p)
	}
	r.quotients(dst, index[:n], symbols[:n])
	return nil
}

var errAsked = errors.New("moniqua: request: too short or too long")

// appendRepair appends a repair in blocks of block coordinates each to dst: the spans that a receiver needs. It appends
// all if the receiver has not asked for spans, or if they take more bytes. It reports whether asked is a request.
func appendRepair(dst, repair, asked []byte, block int) ([]byte, bool) {
	if len(asked) == 0 {
		return append(dst, repair...), true
	}
	some, err := appendAsked(dst, repair, asked, block)
	if len(some)-len(dst) >= len(repair) {
		some = append(dst, repair...)
	}
	return some, err == nil
}

// appendAsked appends the spans of a repair that differ from those of a receiver to dst.
func appendAsked(dst, repair, asked []byte, block int) ([]byte, error) {
	if len(asked) < countLen {
		return dst, errAsked
	}
	count := int(binary.LittleEndian.Uint32(asked))
	if asked = asked[countLen:]; len(asked) != HashLen*spans(count, block) {
		return dst, errAsked
	}
	dst = append(slices.Grow(dst, len(repair)), ofSpans...)
	var m [blockLen]int32
	tier := kernel.Best()
	for first := 0; first < count; first += block {
		n := min(block, count-first)
		_, width, body, rest, err := cutQuotients(repair, n)
		if err == nil {
			_, err = readQuotients(m[:n], repair, tier)
		}
		if err != nil {
			return dst, err
		}
		at := len(dst)
		dst = append(append(dst, 0), repair[:quotientHead]...)
		for i := 0; i*spanLen < n; i++ {
			end := min(n, (i+1)*spanLen)
			if binary.LittleEndian.Uint64(asked) != sumOf(m[i*spanLen:end], tier) {
				dst[at] |= 1 << i
				dst = append(dst, body[i*spanLen/8*width:(end*width+7)/8]...)
			}
			asked = asked[HashLen:]
		}
		if dst[at] == 0 {
			dst = dst[:at+1]
		}
		repair = rest
	}
	if len(repair) > 0 {
		return dst, errAsked
	}
	return dst, nil
}

// fill completes the repairs of messages that have some spans alone.
func (r *round) fill(x []float32, in []algos.Message) error {
	for j := range in {
		some, ok := bytes.CutPrefix(in[j].Repair, []byte(ofSpans))
		if !ok {
			continue
		}
		whole, err := r.filled(x, in[j].Payload, some)
		if err != nil {
			return &algos.MessageError{From: in[j].From, Err: fmt.Errorf("%w (round %d)", err, r.k)}
		}
		in[j].Repair = whole
	}
	return nil
}

// filled returns a repair with all blocks. Spans that are not in repair are those that x recovers.
func (r *round) filled(x []float32, payload, repair []byte) ([]byte, error) {
	whole := make([]byte, 0, UsualRepair(len(x)))
	err := r.eachRecovered(x, payload, func(m []int32) (err error) {
		repair, err = r.readSpans(m, repair)
		whole = appendQuotients(whole, m, 0, r.tier)
		return err
	})
	return append(whole, repair...), err // a rest makes it too long, which its use finds
}

// readSpans reads the spans of a block from repair to m and returns the rest.
func (r *round) readSpans(m []int32, repair []byte) (rest []byte, err error) {
	if len(repair) == 0 {
		return nil, errQuotients
	}
	mask, rest := repair[0], repair[1:]
	if mask == 0 {
		return rest, nil
	}
	if len(rest) < quotientHead || mask>>spans(len(m), len(m)) != 0 {
		return nil, errQuotients
	}
	head := rest[:quotientHead]
	rest = rest[quotientHead:]
	var memory [quotientHead + 4*spanLen]byte
	one := memory[:0]
	for i := 0; i*spanLen < len(m); i++ {
		if mask>>i&1 == 0 {
			continue
		}
		part := m[i*spanLen : min(len(m), (i+1)*spanLen)]
		size := (len(part)*int(head[quotientHead-1]) + 7) / 8
		if len(rest) < size {
			return nil, errQuotients
		}
		one = append(append(one[:0], head...), rest[:size]...)
		if _, err = readQuotients(part, one, r.tier); err != nil {
			return nil, err
		}
		rest = rest[size:]
	}
	return rest, nil
}
