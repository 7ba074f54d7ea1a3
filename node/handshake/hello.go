package handshake

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/topology"
)

// version is the version of the protocol between peers: of the handshake, and of the frames after it (wire.Version).
// Peers compare it first, so that one of another version gets a reason and not bytes that it cannot read.
const version = 9

// Unranked is the rank of a peer that does not know it yet.
const Unranked = -1

// A Section is a part of the settings that all peers of a run must share. Peers compare hashes. If two
// differ, both ends tell each other the text, which must hold no secret.
type Section struct {
	Name   string // at most 24 bytes
	JSON   []byte // canonical: equal if and only if the sections are
	Advice string // fix for a difference; "" for a section of the run file
}

// Members are all workers of a run. Self is this one.
type Members struct {
	IDs  []peer.ID // by rank
	Self topology.Rank
}

// Rank returns the rank of id, and whether it has one.
func (m Members) Rank(id peer.ID) (rank topology.Rank, known bool) {
	i := slices.Index(m.IDs, id)
	return topology.Rank(i), i >= 0
}

// A Hello describes a peer to another one that has admitted it.
type Hello struct {
	N        int
	Dim      int
	Rank     int // Unranked before the roll call
	Round    int // exchanges finished
	Durable  int // those in the newest checkpoint; gossip.Undurable without one
	Epoch    uint64
	Lineage  uint64 // of a run whose members come and go; 0: none yet, or another kind of run
	Parent   Parent // of that run
	Host     string // name of its machine
	Sections []SectionSum

	full []Section // the sections of this end, for Sections
}

// A Parent is the run from which another one goes on, and the last view that it knows of it. Without a lineage there is
// none.
type Parent struct {
	Lineage uint64
	View    int
}

// Declare sets the sections that this end compares with others.
func (h *Hello) Declare(sections []Section) { h.full, h.Sections = sections, sumsOf(sections) }

func sumsOf(sections []Section) []SectionSum {
	sums := make([]SectionSum, len(sections))
	for i, s := range sections {
		sums[i] = SectionSum{s.Name, sha256.Sum256(s.JSON)}
	}
	return sums
}

// A SectionSum is the name and the hash of a section.
type SectionSum struct {
	Name string
	Hash [32]byte
}

// The layout is little-endian: n u32, rank u32 (all ones: none), dim u64, round u64, durable u64 (all
// ones: none), epoch u64, lineage u64 (0: none). Then come lineage of the parent u64 (0: none), its view u64, host
// (length u8, 63 bytes) and sections u8. Each section has a name (length u8, 24 bytes) and a hash (32 bytes).
const (
	helloFixed   = helloHost + (1 + MaxHost) + 1
	helloHost    = 4 + 4 + 7*8
	helloSection = (1 + MaxSectionName) + 32
	helloMax     = helloFixed + MaxSections*helloSection
	noRank       = 1<<32 - 1
	noDurable    = 1<<64 - 1
)

var errHelloForm = errors.New("malformed hello")

// append encodes h, whose parts New has checked.
func (h *Hello) append(dst []byte) []byte {
	rank := uint32(noRank)
	if h.Rank != Unranked {
		rank = uint32(h.Rank)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.N))
	dst = binary.LittleEndian.AppendUint32(dst, rank)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.Dim))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.Round))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.Durable)) // gossip.Undurable has all bits set
	dst = binary.LittleEndian.AppendUint64(dst, h.Epoch)
	dst = binary.LittleEndian.AppendUint64(dst, h.Lineage)
	dst = binary.LittleEndian.AppendUint64(dst, h.Parent.Lineage)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.Parent.View))
	dst = appendPadded(dst, h.Host, MaxHost)
	dst = append(dst, byte(len(h.Sections)))
	for _, s := range h.Sections {
		dst = appendPadded(dst, s.Name, MaxSectionName)
		dst = append(dst, s.Hash[:]...)
	}
	return dst
}

// parseHello decodes the hello of an admitted peer.
func parseHello(b []byte) (Hello, error) {
	if len(b) < helloFixed {
		return Hello{}, errHelloForm
	}
	n, rank := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	dim, round := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
	durable, view := binary.LittleEndian.Uint64(b[24:]), binary.LittleEndian.Uint64(b[56:])
	if n > MaxWorkers || rank != noRank && rank >= n ||
		dim > 1<<62 || round > 1<<62 || view > 1<<62 || durable != noDurable && durable > 1<<62 {
		return Hello{}, errHelloForm
	}
	h := Hello{
		N: int(n), Rank: int(rank), Dim: int(dim), Round: int(round), Durable: int(durable),
		Epoch: binary.LittleEndian.Uint64(b[32:]), Lineage: binary.LittleEndian.Uint64(b[40:]),
		Parent: Parent{binary.LittleEndian.Uint64(b[48:]), int(view)},
	}
	if rank == noRank {
		h.Rank = Unranked
	}
	var ok bool
	if h.Host, b, ok = takePadded(b[helloHost:], MaxHost); !ok {
		return Hello{}, errHelloForm
	}
	count := int(b[0])
	b = b[1:]
	if count > MaxSections || len(b) != count*helloSection {
		return Hello{}, errHelloForm
	}
	for range count {
		var s SectionSum
		if s.Name, b, ok = takePadded(b, MaxSectionName); !ok {
			return Hello{}, errHelloForm
		}
		b = b[copy(s.Hash[:], b):]
		h.Sections = append(h.Sections, s)
	}
	return h, nil
}

// OtherRunOfName is the fix for runs of one name and secret that have begun apart.
const OtherRunOfName = "Ctrl-C ends this process, and keeps its model; then peer run, with the settings of the other " +
	"run, joins that one"

// compareLineage refuses a member of another run of this name and secret. A process without a place belongs to
// none.
func (h *Hello) compareLineage(theirs Hello, run string) *RefusedError {
	if h.Lineage == theirs.Lineage || h.Lineage == 0 || theirs.Lineage == 0 {
		return nil
	}
	no := Refusal(OtherLineage, "%s", h.parted(&theirs, run))
	no.There = theirs.parted(h, run)
	no.Advice = OtherRunOfName
	return no
}

// parted says for users of this end where two runs of one name have parted, as far as both ends know.
func (h *Hello) parted(theirs *Hello, run string) string {
	where := "the two have begun apart"
	switch ours, other := h.Parent, theirs.Parent; {
	case ours.Lineage != 0 && ours.Lineage == theirs.Lineage:
		where = fmt.Sprintf("ours goes on from view %d of theirs", ours.View)
	case other.Lineage != 0 && other.Lineage == h.Lineage:
		where = fmt.Sprintf("theirs goes on from view %d of ours", other.View)
	case ours.Lineage != 0 && ours.Lineage == other.Lineage:
		where = fmt.Sprintf("both go on from lineage %d, theirs from its view %d, ours from its view %d", ours.Lineage,
			other.View, ours.View)
	}
	return fmt.Sprintf("another run of the name %s: its lineage is %d, ours %d: %s", run, theirs.Lineage, h.Lineage,
		where)
}

// CompareShape refuses a peer whose model or graph has another size.
func (h *Hello) CompareShape(theirs Hello) *RefusedError {
	if theirs.N == h.N && theirs.Dim == h.Dim {
		return nil
	}
	return Refusal(OtherShape,
		"sizes differ: ours is %d workers of %d parameters, theirs %d of %d", h.N, h.Dim, theirs.N, theirs.Dim)
}

// CompareRoster checks that both know the other end by the same rank.
func (h *Hello) CompareRoster(theirs Hello, want topology.Rank) *RefusedError {
	if theirs.Rank == int(want) {
		return nil
	}
	return Refusal(OtherRank, "rosters differ: we know them as worker %d, they say %d", want, theirs.Rank)
}

// A Reach bounds the distance between two neighbours in exchanges.
type Reach struct {
	Lead   int  // exchanges that one may be ahead if neither has come back
	Kept   bool // messages are kept for a neighbour that has come back
	Oldest int  // oldest exchange kept; 0 if this neighbour gets no messages
}

// ComparePlace checks the rank and the progress of a neighbour. If synchronous neighbours are more
// than Lead apart, one has come back, and the other must have kept the messages that it needs.
func (h *Hello) ComparePlace(theirs Hello, want topology.Rank, r Reach) *RefusedError {
	if no := h.CompareRoster(theirs, want); no != nil {
		return no
	}
	gap, why := theirs.Round-h.Round, ""
	switch {
	case !r.Kept && (gap < -r.Lead || gap > r.Lead):
		why = "no log of messages is kept here: set checkpoint in the run file"
	case r.Kept && r.Oldest > theirs.Round:
		why = fmt.Sprintf("the log of worker %d begins at exchange %d", h.Rank, r.Oldest)
	default:
		return nil
	}
	return Refusal(LostState, "lost its place: worker %d has finished %d exchanges, worker %d has finished %d; %s",
		h.Rank, h.Round, theirs.Rank, theirs.Round, why)
}
