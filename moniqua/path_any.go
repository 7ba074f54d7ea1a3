package moniqua

import (
	"fmt"
	"math"

	"gossiptrainer/algos"
)

// anyPath takes any number of levels and of neighbours, and repairs. It works on whole integers in fixed point, block
// by block.
type anyPath struct{}

// encode implements path.
func (anyPath) encode(r round, payload []byte, x []float32, v *verification) error {
	var (
		index   [blockLen]int64
		symbols [blockLen]uint16
		dst     = payload[:0]
	)
	for first := 0; first < len(x); first += r.block {
		part := x[first:min(first+r.block, len(x))]
		if err := r.indices(index[:len(part)], part, first); err != nil {
			return err
		}
		r.divisor.residues(symbols[:len(part)], index[:len(part)])
		var err error
		if dst, err = r.packing.Pack(dst, symbols[:len(part)]); err != nil {
			return fmt.Errorf("moniqua: internal error: %w", err)
		}
		if v != nil {
			v.note(&r, index[:len(part)], symbols[:len(part)])
		}
	}
	return nil
}

// indices writes the grid indices of x, which begins at coordinate first.
func (r *round) indices(dst []int64, x []float32, first int) error {
	if at := r.encode.round(dst, x, first); at >= 0 {
		return r.strange(x[at], first+at)
	}
	for i, v := range dst {
		if uint64(v+math.MaxInt32) > 2*math.MaxInt32 { // |v| ≥ 2³¹ in one comparison
			return r.strange(x[i], first+i)
		}
	}
	return nil
}

// mix implements path.
func (anyPath) mix(r round, g gathered) (algos.Mixed, error) {
	var (
		m       mixer
		largest int32
		moved   int
	)
	for first := 0; first < len(g.x); first += r.block {
		end := min(first+r.block, len(g.x))
		if err := m.block(&r, &g, first, end); err != nil {
			return algos.Mixed{}, fmt.Errorf("moniqua: internal error: %w", err)
		}
		top, count := m.drain(g.acc[first:end])
		largest, moved = max(largest, top), moved+count
	}
	return r.mixed(int(largest), moved), nil
}

// A mixer is the working memory of mix, on its stack.
type mixer struct {
	mixing
	index             [blockLen]int64
	low, own, symbols [blockLen]uint16
}

// block sums the messages over the coordinates from first to end. It takes the indices of repaired messages from the
// rest of their repairs.
func (m *mixer) block(r *round, g *gathered, first, end int) error {
	x, n := g.x[first:end], end-first
	low, own, symbols := m.low[:n], m.own[:n], m.symbols[:n]
	from, to := r.packing.Len(first), r.packing.Len(end)
	if at := r.windows.round(m.index[:n], x, first); at >= 0 {
		return r.strange(x[at], first+at)
	}
	r.divisor.residues(low, m.index[:n])
	if err := r.packing.Unpack(own, g.mine[from:to]); err != nil {
		return err
	}
	levels := int32(r.grid.Levels)
	place(own, own, low, levels)
	for j, message := range g.in {
		if err := r.packing.Unpack(symbols, message.Payload[from:to]); err != nil {
			return err
		}
		scale := r.plain.scale(message.Weight)
		if message.Repair == nil {
			m.add(symbols, low, own, levels, scale)
			continue
		}
		var err error
		if g.repairs[j], err = m.addRepaired(r, g.repairs[j], symbols, own, scale); err != nil {
			return err
		}
	}
	return nil
}

// addRepaired is add for one neighbour whose quotients give the indices.
func (m *mixer) addRepaired(r *round, repair []byte, symbols, own []uint16, scale float32) (rest []byte, err error) {
	var theirs [blockLen]int32
	if rest, err = r.mend(theirs[:len(symbols)], repair, symbols); err != nil {
		return nil, err
	}
	for i := range symbols {
		difference := int64(theirs[i]) - (m.index[i] + int64(own[i]))
		m.sum[i] += float32(scale * float32(difference))
		m.peak[i] = max(m.peak[i], int32(min(max(difference, -difference), math.MaxInt32)))
	}
	return rest, nil
}

// A mixing holds the sums over the neighbours, for one block.
type mixing struct {
	sum  [blockLen]float32 // Σ_j w_j·D·(k'_j − k_i)
	peak [blockLen]int32   // max_j |k'_j − k_i|
}

// add adds one neighbour's symbols. The residues of the windows' low ends are low, the places of the worker's own
// indices own. The increment is the float32 product of scale = w·D and the index difference. So for equal weights the
// two ends of an edge add exact negatives.
func (m *mixing) add(symbols, low, own []uint16, levels int32, scale float32) {
	n := len(symbols)
	low, own = low[:n], own[:n]
	sum, peak := m.sum[:n], m.peak[:n]
	for i, s := range symbols {
		p := int32(s) - int32(low[i])
		p += levels & (p >> 31)
		difference := p - int32(own[i])
		sum[i] += float32(scale * float32(difference))
		sign := difference >> 31
		peak[i] = max(peak[i], (difference^sign)-sign)
	}
}

// drain adds the sums to acc and clears the block. It returns the largest index difference and the number of
// coordinates with a difference.
func (m *mixing) drain(acc []float32) (largest int32, moved int) {
	sum, peak := m.sum[:len(acc)], m.peak[:len(acc)]
	for i, s := range sum {
		acc[i] += s
		largest = max(largest, peak[i])
		moved += int(uint32(-peak[i]) >> 31)
	}
	clear(sum)
	clear(peak)
	return largest, moved
}
