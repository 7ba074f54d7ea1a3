package node

import (
	"encoding/binary"
	"errors"
	"fmt"

	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// version is that of what peers say to each other before they trust each
// other; frames have one of their own.
const version = 3

// unranked is the rank of a peer that does not know it yet.
const unranked = -1

// undurable stands for the checkpoint of a peer that keeps none: it does not come
// back.
const undurable = gossip.Undurable

// A hello is what a peer says of itself when it has been admitted.
type hello struct {
	N        int
	Dim      int
	Rank     int // unranked before the roll call
	Round    int // exchanges finished
	Durable  int // of these, as many as the newest checkpoint knows of; undurable without one
	Epoch    uint64
	Host     string // name of its machine
	Sections []sectionSum

	full []Section // what the sums of this end stand for
}

// A sectionSum stands for a section.
type sectionSum struct {
	Name string
	Hash [32]byte
}

// The layout, little-endian: n u32, rank u32 (all ones: none), dim u64, round
// u64, durable u64 (all ones: none), epoch u64, host (length u8, 63 bytes), sections u8,
// then per section name (length u8, 24 bytes) and hash (32 bytes).
const (
	helloFixed   = helloHost + (1 + maxHost) + 1
	helloHost    = 4 + 4 + 8 + 8 + 8 + 8
	helloSection = (1 + maxSectionName) + 32
	helloMax     = helloFixed + maxSections*helloSection
	noRank       = 1<<32 - 1
	noDurable    = 1<<64 - 1
)

var errHelloForm = errors.New("malformed hello")

// append encodes h, whose parts New has checked.
func (h *hello) append(dst []byte) []byte {
	rank := uint32(noRank)
	if h.Rank != unranked {
		rank = uint32(h.Rank)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.N))
	dst = binary.LittleEndian.AppendUint32(dst, rank)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.Dim))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.Round))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.Durable)) // undurable has all bits set
	dst = binary.LittleEndian.AppendUint64(dst, h.Epoch)
	dst = appendPadded(dst, h.Host, maxHost)
	dst = append(dst, byte(len(h.Sections)))
	for _, s := range h.Sections {
		dst = appendPadded(dst, s.Name, maxSectionName)
		dst = append(dst, s.Hash[:]...)
	}
	return dst
}

// parseHello decodes what a peer that was admitted has sent.
func parseHello(b []byte) (hello, error) {
	if len(b) < helloFixed {
		return hello{}, errHelloForm
	}
	n, rank := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	dim, round := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
	durable := binary.LittleEndian.Uint64(b[24:])
	if n > maxWorkers || rank != noRank && rank >= n || dim > 1<<62 || round > 1<<62 || durable != noDurable && durable > 1<<62 {
		return hello{}, errHelloForm
	}
	h := hello{N: int(n), Rank: int(rank), Dim: int(dim), Round: int(round), Durable: int(durable), Epoch: binary.LittleEndian.Uint64(b[32:])}
	if rank == noRank {
		h.Rank = unranked
	}
	var ok bool
	if h.Host, b, ok = takePadded(b[helloHost:], maxHost); !ok {
		return hello{}, errHelloForm
	}
	count := int(b[0])
	b = b[1:]
	if count > maxSections || len(b) != count*helloSection {
		return hello{}, errHelloForm
	}
	for range count {
		var s sectionSum
		if s.Name, b, ok = takePadded(b, maxSectionName); !ok {
			return hello{}, errHelloForm
		}
		b = b[copy(s.Hash[:], b):]
		h.Sections = append(h.Sections, s)
	}
	return h, nil
}

// appendPadded appends the length of s, s, and zeros up to size bytes.
func appendPadded(dst []byte, s string, size int) []byte {
	dst = append(dst, byte(len(s)))
	dst = append(dst, s...)
	return append(dst, make([]byte, size-len(s))...)
}

// takePadded undoes appendPadded and returns what follows. b holds at least
// size+1 bytes.
func takePadded(b []byte, size int) (s string, rest []byte, ok bool) {
	n := int(b[0])
	if n > size {
		return "", nil, false
	}
	for _, c := range b[1+n : 1+size] {
		if c != 0 {
			return "", nil, false
		}
	}
	return string(b[1 : 1+n]), b[1+size:], true
}

// compareShape says whether two peers have models and graphs of one size.
func (h *hello) compareShape(theirs hello) *RefusedError {
	if theirs.N == h.N && theirs.Dim == h.Dim {
		return nil
	}
	return &RefusedError{Reason: OtherShape, Detail: fmt.Sprintf(
		"sizes differ: ours is %d workers of %d parameters, theirs %d of %d", h.N, h.Dim, theirs.N, theirs.Dim)}
}

// compareRoster checks that both know the other end by the same rank.
func (h *hello) compareRoster(theirs hello, want topology.Rank) *RefusedError {
	if theirs.Rank == int(want) {
		return nil
	}
	return &RefusedError{Reason: OtherRank, Detail: fmt.Sprintf("rosters differ: we know them as worker %d, they say %d", want, theirs.Rank)}
}

// A reach says how far apart two neighbours may be.
type reach struct {
	lead   int  // exchanges that one can be ahead of the other if none has come back
	kept   bool // what is sent is kept, for one that has
	oldest int  // that is kept; 0 if there is nothing to send to this one
}

// compareRank checks what a neighbour says of its place and its progress. Of
// synchronous neighbours that are further apart than lead, one has come back, and
// it must find its messages in what the other has kept.
func (h *hello) compareRank(theirs hello, want topology.Rank, r reach) *RefusedError {
	if no := h.compareRoster(theirs, want); no != nil {
		return no
	}
	gap, why := theirs.Round-h.Round, ""
	switch {
	case !r.kept && (gap < -r.lead || gap > r.lead):
		why = "no log of messages is kept here: set checkpoint in the run file"
	case r.kept && r.oldest > theirs.Round:
		why = fmt.Sprintf("the log of worker %d begins at exchange %d", h.Rank, r.oldest)
	default:
		return nil
	}
	return &RefusedError{Reason: LostState, Detail: fmt.Sprintf("lost its place: worker %d has finished %d exchanges, worker %d has finished %d; %s",
		h.Rank, h.Round, theirs.Rank, theirs.Round, why)}
}
