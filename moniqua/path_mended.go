package moniqua

import (
	"fmt"
	"math"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
)

// mendPath takes fewer than eight bits, with repairs. Rounds with repairs follow one another, and all neighbours wait
// for the worker that repairs. Even then models are rarely 128 steps apart. So the last bytes of the indices N·m + s
// determine the differences to the worker's own indices. They are computed eight at a time. Other blocks are computed
// as in anyPath.
type mendPath struct{ bytePath }

// A mendMixer is the working memory of mix, on its stack.
type mendMixer struct {
	laneChecker
	any    mixer
	theirs [usual][blockLen]byte // the last bytes of their indices
}

// mix implements path.
func (mendPath) mix(r round, g gathered) (algos.Mixed, error) {
	var (
		indices [checkedIndices * blockLen]int32
		bytes   [checkedBytes * blockLen]byte
		q       kernel.Quantizer
		acc, x  = g.acc, g.x
		in      = g.in
		owns    = r.encode.lanes(&q, kernel.OfIndices, r.width, len(x))
		m       = mendMixer{laneChecker: newLaneChecker(&r, len(x), owns, coding{indices[:], bytes[:]})}
		theirs  [usual][]byte
		scales  [usual]float32
		saw     kernel.Mixed
	)
	for j := range in {
		scales[j] = r.plain.scale(in[j].Weight)
	}
	for first := 0; first < len(x); first += blockLen {
		end := min(first+blockLen, len(x))
		var before [usual][]byte
		copy(before[:], g.repairs)
		near, err := m.near(&g, first, end)
		var one kernel.Mixed
		switch {
		case err != nil:
		case near:
			for j := range in {
				theirs[j] = m.theirs[j][:end-first]
			}
			one = r.tier.Mix(acc[first:end], kernel.Own{Symbols: m.ownLast[:end-first], Width: 8}, theirs[:len(in)],
				scales[:len(in)])
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

// near writes the last bytes of all indices of one block and reports whether they determine the differences.
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
