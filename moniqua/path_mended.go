package moniqua

import (
	"encoding/binary"
	"fmt"
	"math"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
)

// mendPath takes fewer than eight bits, with repairs. Rounds with repairs follow one
// another, and all neighbours wait for the worker that mends. Models are rarely 128
// steps apart even there: then the last bytes of the indices N·m + s tell them from
// the own ones, and are computed eight at a time. Blocks of which that is not
// certain are worked on as in anyPath.
type mendPath struct{ bytePath }

// lastBytes writes the last bytes of the indices of a message to dst, from its
// payload and the repair, which begins with this block. It returns how far they are
// from the own indices at most, and the rest of the repair; without reach, which is
// positive, dst is of no use.
func (m *laneChecker) lastBytes(dst, repair, payload []byte, first int) (reach int64, rest []byte, err error) {
	low, size, body, rest, err := cutQuotients(repair, len(dst))
	if err != nil {
		return 0, nil, err
	}
	least, most := int64(low)<<m.width, (int64(low)+1<<size)<<m.width-1
	reach = max(most-int64(m.least), int64(m.most)-least)
	if size > 8 || reach > math.MaxInt8 {
		return 0, nil, nil
	}
	var memory [blockLen]byte
	quotients := raised{memory[:len(dst)], size}
	if size > 0 {
		m.tier.Unpack(quotients.bytes, size, body)
	}
	joinBytes(dst, byte(low), quotients, raised{m.sent(m.buffer[:len(dst)], payload, first), m.width})
	return reach, rest, nil
}

// raised are numbers of width bits, in the upper ones of bytes.
type raised struct {
	bytes []byte
	width int
}

// joinBytes writes the last bytes of (low + q)·N + s to dst, for symbols s of N values.
func joinBytes(dst []byte, low byte, quotients, symbols raised) {
	const every, highest = 0x0101010101010101, 0x8080808080808080
	q, size, s, width := quotients.bytes, quotients.width, symbols.bytes, symbols.width
	quotient, symbol := every*uint64(1<<size-1), every*uint64(1<<width-1)
	lows := every * uint64(low)
	for len(dst) >= 8 {
		a := binary.LittleEndian.Uint64(q) >> (8 - size) & quotient
		m := (a&^highest + lows&^highest) ^ (a^lows)&highest // no byte carries into the next
		k := m<<width&^symbol | binary.LittleEndian.Uint64(s)>>(8-width)&symbol
		binary.LittleEndian.PutUint64(dst, k)
		dst, q, s = dst[8:], q[8:], s[8:]
	}
	for i := range dst {
		dst[i] = (low+q[i]>>(8-size))<<width | s[i]>>(8-width)
	}
}

// mend writes the indices of a message over one block to dst, from its repair, of
// which it leaves the rest. It refuses what is not believed.
func (m *laneChecker) mend(dst []int32, repair *[]byte, message algos.Message, first int) error {
	n := len(dst)
	reach, rest, err := m.lastBytes(m.last[:n], *repair, message.Payload, first)
	if err == nil && reach > 0 {
		own := m.ownLast[:n]
		m.tier.Narrow(own, m.index[:n], 0, 0, math.MaxUint8)
		m.tier.Recover(dst, m.index[:n], own, own, m.last[:n], 8)
	} else if err == nil {
		rest, err = m.mendAny(dst, *repair, message.Payload, first)
		reach = farthest(dst, m.index[:n])
	}
	if err != nil {
		return &algos.MessageError{From: message.From, Err: fmt.Errorf("%w (round %d)", err, m.k)}
	}
	*repair = rest
	step := m.grid.Step()
	if message.Believe(float32(step*float64(reach))) == nil { // of which it is no nearer
		return nil
	}
	if err := message.Believe(float32(step * float64(farthest(dst, m.index[:n])))); err != nil {
		return fmt.Errorf("moniqua: round %d: repair: %w", m.k, err)
	}
	return nil
}

// mendAny is mend for any indices.
func (m *laneChecker) mendAny(dst []int32, repair, payload []byte, first int) (rest []byte, err error) {
	var symbols [blockLen]uint16
	from, to := m.packing.Len(first), m.packing.Len(first+len(dst))
	if err := m.packing.Unpack(symbols[:len(dst)], payload[from:to]); err != nil {
		return nil, err
	}
	return m.round.mend(dst, repair, symbols[:len(dst)])
}

// farthest returns how far indices of a neighbour are from the own ones at most.
func farthest(theirs, own []int32) int64 {
	theirs = theirs[:len(own)]
	low, high := int64(0), int64(0)
	for i, k := range own {
		difference := int64(theirs[i]) - int64(k)
		low, high = min(low, difference), max(high, difference)
	}
	return max(-low, high)
}

// A mendMixer is the working memory of mix, on its stack.
type mendMixer struct {
	laneChecker
	any    mixer
	theirs [inLanes][blockLen]byte // the last bytes of their indices
}

// mix is path.mix.
func (mendPath) mix(r round, g gathered) (algos.Mixed, error) {
	var (
		m      mendMixer
		theirs [inLanes][]byte
		scales [inLanes]float32
		saw    kernel.Mixed
		acc, x = g.acc, g.x
		in     = g.in
	)
	m.prepare(&r, len(x))
	for j := range in {
		scales[j] = r.plain.scale(in[j].Weight)
	}
	for first := 0; first < len(x); first += blockLen {
		end := min(first+blockLen, len(x))
		var before [inLanes][]byte
		copy(before[:], g.repairs)
		near, err := m.near(&g, first, end)
		var one kernel.Mixed
		switch {
		case err != nil:
		case near:
			for j := range in {
				theirs[j] = m.theirs[j][:end-first]
			}
			one = r.tier.Mix(acc[first:end], m.ownLast[:end-first], nil, theirs[:len(in)], scales[:len(in)], 8)
		default:
			copy(g.repairs, before[:])
			if err = m.any.block(&r, &g, first, end); err == nil {
				top, count := m.any.drain(acc[first:end])
				one.Largest, one.Moved = int(top), count
			}
		}
		if err != nil {
			return algos.Mixed{}, fmt.Errorf("moniqua: internal error: %w", err)
		}
		saw.Largest, saw.Moved = max(saw.Largest, one.Largest), saw.Moved+one.Moved
	}
	return r.mixed(saw.Largest, saw.Moved), nil
}

// near writes the last bytes of all indices of one block and reports whether they
// tell the differences.
func (m *mendMixer) near(g *gathered, first, end int) (bool, error) {
	x, in, repairs := g.x[first:end], g.in, g.repairs
	n := len(x)
	if !m.ownIndices(x, first) {
		return false, nil
	}
	m.tier.Narrow(m.ownLast[:n], m.index[:n], 0, 0, math.MaxUint8)
	for j := range in {
		last := m.theirs[j][:n]
		if in[j].Repair != nil {
			reach, rest, err := m.lastBytes(last, repairs[j], in[j].Payload, first)
			if err != nil || reach == 0 {
				return false, err
			}
			repairs[j] = rest
			continue
		}
		indices := m.laneChecker.theirs[0][:n]
		if err := m.recover(indices, x, in[j].Payload, first); err != nil {
			return false, err
		}
		m.tier.Narrow(last, indices, 0, 0, math.MaxUint8)
	}
	return true, nil
}
