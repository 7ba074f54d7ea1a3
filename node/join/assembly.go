package join

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/node/handshake"
)

// A phase is a peer's step towards an agreement on the members.
type phase uint8

const (
	gathering phase = iota // knows too few peers
	proposed               // proposes this set
	ready                  // promises to work with no other set, for ever
	committed              // knows that all members of the set are ready
)

// A ballot is a peer's view of the members of the run. A newer ballot replaces an older one, so
// ballots may be lost.
type ballot struct {
	phase phase
	set   []peer.ID // by rank; empty while gathering
}

// An assembly is one peer's part in an agreement on exactly n members without a coordinator. Its state
// depends only on the ballots received, not on a clock.
//
// A set is in the order of ranks. In a run that resumes, peers keep the ranks whose state they have. The
// others take the vacant ones in the order of their ids.
//
// Each peer proposes the n smallest ids that it knows. When all members of that set propose it, the
// peer is ready for it and stays so. When all members are ready, the set is agreed. Two agreed sets
// have no common member, since a peer is ready for one set only. (With 2n peers or more there may be
// two runs.)
//
// Peers that learn of more peers propose smaller and smaller sets. A peer goes back to a greater set
// only if a member of the smaller one is ready for the greater one. That member has never proposed the
// smaller set. So no peer has become ready for the smaller set, and none is left waiting.
type assembly struct {
	self   peer.ID
	n      int
	mine   ballot
	others map[peer.ID]ballot // the last ballot of each connected peer
	held   map[peer.ID]int    // the rank whose state this peer has, or one that has called; missing: none
}

func newAssembly(self peer.ID, n int) assembly {
	return assembly{self: self, n: n, others: make(map[peer.ID]ballot), held: make(map[peer.ID]int)}
}

// holds notes the rank whose state a peer has, handshake.Unranked for none.
func (a *assembly) holds(id peer.ID, rank int) {
	if delete(a.held, id); rank != handshake.Unranked {
		a.held[id] = rank
	}
}

// ranked returns ids in the order of their ranks. No two of them hold the same.
func (a *assembly) ranked(ids []peer.ID) []peer.ID {
	out := make([]peer.ID, len(ids))
	for _, id := range ids {
		if rank, holds := a.held[id]; holds {
			out[rank] = id
		}
	}
	next := 0
	for _, id := range ids {
		if _, holds := a.held[id]; !holds {
			for out[next] != "" {
				next++
			}
			out[next] = id
		}
	}
	return out
}

// newcomers returns the members that hold no state, in a run that resumes.
func (a *assembly) newcomers() (all []peer.ID) {
	for _, id := range a.mine.set {
		if _, holds := a.held[id]; !holds {
			all = append(all, id)
		}
	}
	if len(all) == len(a.mine.set) {
		return nil // the run begins
	}
	return all
}

// step updates this peer's ballot by those of the others, and reports whether it has changed.
func (a *assembly) step() (changed bool) {
	before := a.mine
	if set := a.agreedWithout(); set != nil {
		a.mine = ballot{committed, set}
	}
	if a.mine.phase < ready {
		a.propose()
	}
	if a.mine.phase == proposed && a.all(proposed) {
		a.mine.phase = ready
	}
	if a.mine.phase == ready && a.all(ready) {
		a.mine.phase = committed
	}
	return a.mine.phase != before.phase || !slices.Equal(a.mine.set, before.set)
}

// agreedWithout returns a set that the others have agreed on and that contains this peer. This peer
// has agreed before and has lost its memory, or it has missed their last ballots.
func (a *assembly) agreedWithout() []peer.ID {
	for _, id := range slices.Sorted(maps.Keys(a.others)) {
		if b := a.others[id]; b.phase == committed && slices.Contains(b.set, a.self) {
			return b.set
		}
	}
	return nil
}

// propose chooses the set to propose.
func (a *assembly) propose() {
	free := []peer.ID{a.self}
	for id, b := range a.others {
		if b.phase < ready || slices.Contains(b.set, a.self) && a.possible(b.set) {
			free = append(free, id)
		}
	}
	slices.Sort(free)
	if free = a.apart(free); len(free) < a.n {
		a.mine = ballot{}
		return
	}
	set := a.ranked(free[:a.n])
	if !a.possible(set) {
		set = a.bound(set)
	}
	if !slices.Contains(set, a.self) {
		a.mine = ballot{} // this peer is one too many: the others are enough
		return
	}
	a.mine = ballot{proposed, slices.Clone(set)}
}

// apart leaves out peers that hold the state of a rank which one before them holds too: a run folder was copied.
func (a *assembly) apart(ids []peer.ID) (out []peer.ID) {
	taken := make(map[int]bool)
	for _, id := range ids {
		rank, holds := a.held[id]
		if holds && taken[rank] {
			continue
		}
		if holds {
			taken[rank] = true
		}
		out = append(out, id)
	}
	return out
}

// possible reports whether no member of set is ready for another set.
func (a *assembly) possible(set []peer.ID) bool {
	return !slices.ContainsFunc(set, func(id peer.ID) bool {
		b := a.others[id]
		return b.phase >= ready && !slices.Equal(b.set, set)
	})
}

// bound returns the first set for which a member of set is ready.
func (a *assembly) bound(set []peer.ID) []peer.ID {
	var first []peer.ID
	for _, id := range set {
		if b := a.others[id]; b.phase >= ready && (first == nil || before(b.set, first)) {
			first = b.set
		}
	}
	return first
}

// before orders sets by their ids.
func before(a, b []peer.ID) bool {
	return slices.Compare(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))) < 0
}

// all reports whether all other members of the own set have reached phase p with the same set.
func (a *assembly) all(p phase) bool {
	for _, id := range a.mine.set {
		if b := a.others[id]; id != a.self && (b.phase < p || !slices.Equal(b.set, a.mine.set)) {
			return false
		}
	}
	return true
}

// lacking returns the members of the own set that delay the agreement.
func (a *assembly) lacking() []peer.ID {
	var out []peer.ID
	for _, id := range a.mine.set {
		if b := a.others[id]; id != a.self && (b.phase < a.mine.phase || !slices.Equal(b.set, a.mine.set)) {
			out = append(out, id)
		}
	}
	return out
}

// append encodes b: phase u8, ids u16, each with its length u8.
func (b ballot) append(dst []byte) []byte {
	dst = append(dst, byte(b.phase))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(b.set)))
	for _, id := range b.set {
		dst = append(dst, byte(len(id)))
		dst = append(dst, id...)
	}
	return dst
}

var errBallot = errors.New("malformed ballot")

// parseBallot decodes the ballot of a peer in a run of n.
func parseBallot(b []byte, n int) (ballot, error) {
	if len(b) < 3 || phase(b[0]) > committed {
		return ballot{}, errBallot
	}
	out := ballot{phase: phase(b[0])}
	count := int(binary.LittleEndian.Uint16(b[1:]))
	if out.phase == gathering && count != 0 || out.phase != gathering && count != n {
		return ballot{}, errBallot
	}
	b = b[3:]
	seen := make(map[peer.ID]bool, min(count, len(b)))
	for range count {
		if len(b) < 1 || len(b) < 1+int(b[0]) {
			return ballot{}, errBallot
		}
		id := peer.ID(b[1 : 1+int(b[0])])
		if id.Validate() != nil || seen[id] {
			return ballot{}, errBallot
		}
		seen[id] = true
		out.set, b = append(out.set, id), b[1+len(id):]
	}
	if len(b) != 0 {
		return ballot{}, errBallot
	}
	return out, nil
}
