package moniqua

import (
	"encoding/binary"
	"fmt"
	"math"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/topology"
)

// With Verify a payload ends with the hash of the sender's indices. If models differ by more than θ, a receiver
// recovers other indices, and the hash reveals it (Lu and De Sa, section 6). The receiver then gets the quotients of
// the sender's indices:
//
//	k_j = N·m_j + s_j
//
// All neighbours of j then use the same index. So the iterates are those of a run without errors, and their mean does
// not drift.

// HashLen is the length in bytes of the index hash at the end of a payload.
const HashLen = 8

// A verification holds the repairs that a codec can give, and its working memory.
type verification struct {
	kept   []repair // of the last encoded rounds: a worker that has not mixed may be behind; nil: none yet
	ahead  int      // the number of exchanges that it may be behind, ≥ 1; 0: 1
	last   int      // which of them is newest
	most   int      // bytes that all have taken before this round
	hash   kernel.Hash
	theirs []kernel.Hash // by message
	rest   [][]byte      // by message: the rest of its repair

	mending [][][]byte // by piece and message: the rest of the repair while the piece is mixed
	wrong   algos.MismatchError

	distrusted map[topology.Rank]int // rounds in which an audit has counted their messages
}

// A repair holds the quotients of one round, piece by piece.
type repair struct {
	k    int
	data []byte
	ends []int // of the pieces in data
}

// end ends a piece.
func (r *repair) end() { r.ends = append(r.ends, len(r.data)) }

// piece returns the quotients of a piece.
func (r *repair) piece(i int) []byte {
	if i == 0 {
		return r.data[:r.ends[0]]
	}
	return r.data[r.ends[i-1]:r.ends[i]]
}

// begin makes room for the hash and the quotients of the piece of round k that begins with coordinate first.
func (v *verification) begin(k, first int) {
	if first == 0 {
		v.most = v.extra()
		v.last = (v.last + 1) % v.rounds()
		kept := v.newest()
		kept.k, kept.data, kept.ends = k, kept.data[:0], kept.ends[:0]
	}
	v.hash.Reset()
}

// reserve gives the quotients of the next round, of d coordinates, memory at once. Growing would take half as much
// again.
func (v *verification) reserve(d int) {
	next := v.before(-1)
	if next.data == nil {
		next.data = make([]byte, 0, UsualRepair(d))
	}
}

// extra returns the most bytes that all repairs have taken.
func (v *verification) extra() int {
	now := 0
	for i := range v.kept {
		now += len(v.kept[i].data)
	}
	return max(v.most, now)
}

// rounds returns the number of rounds whose repairs are kept.
func (v *verification) rounds() int { return max(1, v.ahead) + 1 }

// newest returns the repair of the round encoded last, or being encoded.
func (v *verification) newest() *repair { return v.before(0) }

// before returns the repair of an earlier round, counted back from the newest.
func (v *verification) before(i int) *repair {
	if v.kept == nil {
		v.kept = make([]repair, v.rounds())
	}
	return &v.kept[(v.last+len(v.kept)-i)%len(v.kept)]
}

// distrust notes that a message of round k is wrong. It reports whether none of its pieces was.
func (v *verification) distrust(from topology.Rank, k int) bool {
	if last, ok := v.distrusted[from]; ok && last == k {
		return false
	}
	if v.distrusted == nil {
		v.distrusted = make(map[topology.Rank]int)
	}
	v.distrusted[from] = k
	return true
}

// forget lets the next round reuse the memory of the last one.
func (v *verification) forget() { v.last = (v.last + v.rounds() - 1) % v.rounds() }

// note enters one block of the indices that are being encoded.
func (v *verification) note(r *round, index []int64, symbols []uint16) {
	kept := v.newest()
	var indices, m [blockLen]int32
	for i, k := range index {
		indices[i] = int32(k)
	}
	r.tier.Hash(&v.hash, indices[:len(index)])
	r.quotients(m[:], index, symbols)
	kept.data = appendQuotients(kept.data, m[:len(index)], 0, r.tier)
}

// check recovers all messages without using them. It returns a MismatchError for messages with a different hash, and a
// MessageError for an invalid repair.
func (v *verification) check(r *round, x []float32, in []algos.Message) error {
	v.start(in)
	if err := v.recover(r, x, in); err != nil {
		return err
	}
	v.wrong.From, v.wrong.Ask = v.wrong.From[:0], v.wrong.Ask[:0]
	for j := range in {
		payload := in[j].Payload
		agrees := v.theirs[j].Sum() == binary.LittleEndian.Uint64(payload[len(payload)-HashLen:])
		switch {
		case in[j].Repair == nil && !agrees:
			asked, err := r.ask(x, payload)
			if err != nil {
				return err
			}
			v.wrong.From, v.wrong.Ask = append(v.wrong.From, in[j].From), append(v.wrong.Ask, asked)
		case in[j].Repair != nil && (!agrees || len(v.rest[j]) > 0):
			return &algos.MessageError{From: in[j].From,
				Err: fmt.Errorf("moniqua: round %d: repair: does not give the hash of the message", r.k)}
		}
	}
	if len(v.wrong.From) > 0 {
		return &v.wrong
	}
	return nil
}

// recover hashes the indices of all messages.
func (v *verification) recover(r *round, x []float32, in []algos.Message) error {
	if r.width > 0 {
		return v.recoverBytes(r, x, in)
	}
	for first := 0; first < len(x) && len(in) > 0; first += r.block {
		if err := v.block(r, x[first:min(first+r.block, len(x))], first, in); err != nil {
			return err
		}
	}
	return nil
}

// mends returns the repairs of the messages of a piece. Each piece has a list. A piece has its list since it
// was checked, so that pieces may be mixed at the same time.
func (v *verification) mends(piece int, in []algos.Message) [][]byte {
	for len(v.mending) <= piece {
		v.mending = append(v.mending, nil)
	}
	list := v.mending[piece][:0]
	for j := range in {
		list = append(list, in[j].Repair)
	}
	v.mending[piece] = list
	return list
}

// start begins to read the messages in.
func (v *verification) start(in []algos.Message) {
	if len(v.theirs) < len(in) {
		v.theirs, v.rest = make([]kernel.Hash, len(in)), make([][]byte, len(in))
	}
	for j := range in {
		v.theirs[j].Reset()
		v.rest[j] = in[j].Repair
	}
}

// block hashes the indices of all messages over the coordinates x.
func (v *verification) block(r *round, x []float32, first int, in []algos.Message) error {
	var (
		index        [blockLen]int64
		low, symbols [blockLen]uint16
		indices      [blockLen]int32
		n            = len(x)
		from, to     = r.packing.Len(first), r.packing.Len(first + n)
	)
	if at := r.windows.round(index[:n], x, first); at >= 0 {
		return r.strange(x[at], first+at)
	}
	r.divisor.residues(low[:n], index[:n])
	for j := range in {
		if err := r.packing.Unpack(symbols[:n], in[j].Payload[from:to]); err != nil {
			return fmt.Errorf("moniqua: internal error: %w", err)
		}
		if in[j].Repair != nil {
			var err error
			if v.rest[j], err = r.mend(indices[:n], v.rest[j], symbols[:n]); err != nil {
				return &algos.MessageError{From: in[j].From, Err: fmt.Errorf("%w (round %d)", err, r.k)}
			}
			if err = in[j].Believe(r.reach(indices[:n], index[:n])); err != nil {
				return fmt.Errorf("moniqua: round %d: repair: %w", r.k, err)
			}
		} else {
			place(symbols[:n], symbols[:n], low[:n], int32(r.grid.Levels))
			recover32(indices[:n], index[:n], symbols[:n])
		}
		r.tier.Hash(&v.theirs[j], indices[:n])
	}
	return nil
}

// recover32 writes low + place to dst. If x is far beyond the sender's model, a sum can exceed all indices; it becomes
// an index that no sender has.
func recover32(dst []int32, low []int64, places []uint16) {
	dst, places = dst[:len(low)], places[:len(low)]
	for i, v := range low {
		k := v + int64(places[i])
		if int64(int32(k)) != k {
			k = math.MinInt32
		}
		dst[i] = int32(k)
	}
}

// reach returns the largest distance between the grid points of indices and of the reference. Symbols alone stay within
// θ, but quotients may go beyond.
func (r *round) reach(indices []int32, reference []int64) float32 {
	low, high := int64(0), int64(0)
	for i, k := range indices {
		low, high = min(low, int64(k)-reference[i]), max(high, int64(k)-reference[i])
	}
	return float32(r.grid.Step() * float64(max(-low, high)))
}
