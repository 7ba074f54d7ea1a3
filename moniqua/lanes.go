package moniqua

import (
	"math"
	"math/bits"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
)

// With N = 2^b, b ≤ 8, a symbol is a byte, and the kernels of all vector tiers
// work on the symbols alone. The own index lies within one step of the middle t
// of its decode window [t − N/2, t + N/2), so
//
//	k'_j − k_i = (s_j − s_i) mod N, taken nearest to 0,
//
// unless that is ±N/2: then t decides which end is meant. So a block of
// coordinates in which no symbols are N/2 apart needs neither t nor the random
// numbers in it. Where there are such, the windows are computed like indices.

const (
	inLanes   = 31      // neighbours that are mixed in one pass
	laneBytes = 1 << 13 // of symbols that are worked on at a time
	laneBlock = 1 << 11 // coordinates at a time, at most
)

// byteWidth returns b for N = 2^b up to 256 symbols, else 0.
func (r *round) byteWidth() int {
	n := r.grid.Levels
	if n > 256 || n&(n-1) != 0 {
		return 0
	}
	return bits.TrailingZeros(uint(n))
}

// lanes prepares q for d integers of r, or their residues modulo 2^width, and
// returns it, or nil if the lanes cannot do them.
func (r *rounder) lanes(q *kernel.Quantizer, output kernel.Output, width, d int) *kernel.Quantizer {
	l := kernel.Lattice{Step: r.step, Bits: width, Shift: r.shift}
	if r.window {
		l.Shift += 1 - r.half // ⌈z⌉ = ⌊z⌋ + 1 off the integers
	}
	if r.random {
		l.Noise = &r.key
	}
	if d < kernel.Step || !q.Set(l, output) {
		return nil
	}
	return q
}

// residues writes the integers of x modulo 2^width to dst, of the same length, at
// most laneBlock. It returns the position of the first coordinate that has none,
// or −1.
func (r *rounder) residues(dst []byte, x []float32, first, width int, tier kernel.Tier, q *kernel.Quantizer) int {
	var doubt [laneBlock / 8]byte
	done, doubtful := 0, false
	if q != nil {
		done, doubtful = tier.Residues(dst, x, first, q, doubt[:])
	}
	if doubtful {
		kernel.Doubtful(doubt[:done/8], func(at int) bool {
			dst[at] = byte(int64(r.exact(x[at], r.noise(first+at)))) & byte(1<<width-1)
			return true
		})
	}
	for ; done < len(x); done += blockLen {
		end := min(done+blockLen, len(x))
		if at := r.residuesExactly(dst[done:end], x[done:end], first+done, width); at >= 0 {
			return done + at
		}
	}
	return -1
}

// residuesExactly is residues without lanes, for at most blockLen coordinates.
func (r *rounder) residuesExactly(dst []byte, x []float32, first, width int) int {
	var index [blockLen]int64
	if at := r.round(index[:len(x)], x, first); at >= 0 {
		return at
	}
	for i, k := range index[:len(x)] {
		if !r.window && (k > math.MaxInt32 || k < -math.MaxInt32) {
			return i
		}
		dst[i] = byte(k) & byte(1<<width-1)
	}
	return -1
}

// noise returns u of a coordinate.
func (r *rounder) noise(index int) float64 {
	if !r.random {
		return 0
	}
	return float64(r.key.Uniform(uint32(index)))
}

// inLanes reports whether in is mixed in lanes.
func (r *round) inLanes(in []algos.Message) bool {
	return r.byteWidth() > 0 && len(in) > 0 && len(in) <= inLanes && !repaired(in)
}

// encodeBytes writes the symbols of x to payload, of their length, without
// verification.
func (r *round) encodeBytes(payload []byte, x []float32, width int) error {
	p := r.encode.packer(width, len(x), r.tier)
	for first := 0; first < len(x); first += laneBlock {
		part := x[first:min(first+laneBlock, len(x))]
		if at := p.pack(payload[first/8*width:], part, first); at >= 0 {
			return r.strange(part[at], first+at)
		}
	}
	return nil
}

// mixBytes is Mix for messages without repairs, of two bits or more.
func (r *round) mixBytes(acc, x []float32, mine []byte, in []algos.Message, width int) (algos.Mixed, error) {
	var (
		memory    [laneBytes]byte
		windows   [laneBlock]byte
		theirs    [inLanes][]byte
		rest      [inLanes][]byte
		scales    [inLanes]float32
		quantizer kernel.Quantizer
		q         *kernel.Quantizer // nil before the first tie
		saw       kernel.Mixed
		block     = min(laneBytes/(len(in)+1)&^(kernel.Step-1), laneBlock)
	)
	for j := range in {
		scales[j] = float32(float64(in[j].Weight) * r.grid.Step())
	}
	for first := 0; first < len(x); first += block {
		n := min(block, len(x)-first)
		own := r.symbols(memory[:n], mine, first, width)
		for j := range in {
			theirs[j] = r.symbols(memory[(j+1)*block:][:n], in[j].Payload, first, width)
		}
		mix := func(from, to int, low []byte) int {
			for j := range in {
				rest[j] = theirs[j][from:to]
			}
			one := r.tier.Mix(acc[first+from:first+to], own[from:to], low, rest[:len(in)], scales[:len(in)], width)
			saw.Largest, saw.Moved = max(saw.Largest, one.Largest), saw.Moved+one.Moved
			return from + one.Done
		}
		ties := kernel.Step // coordinates for which windows are computed at a time
		for at := 0; at < n; {
			if at = mix(at, n, nil); at == n {
				break
			}
			begin := at &^ (kernel.Step - 1)
			if q == nil {
				q = r.windows.lanes(&quantizer, kernel.OfResidues, width, len(x))
			}
			ties *= 2 // ties come in crowds
			low := windows[:min(ties, n-begin)]
			part := x[first+begin:][:len(low)]
			if bad := r.windows.residues(low, part, first+begin, width, r.tier, q); bad >= 0 {
				return algos.Mixed{}, r.strange(part[bad], first+begin+bad)
			}
			r.tier.Raise(low, width)
			at = mix(at, begin+len(low), low[at-begin:])
		}
	}
	return algos.Mixed{Gap: float32(float64(saw.Largest) * r.grid.Step()), Moved: saw.Moved}, nil
}

// symbols returns the symbols of payload from coordinate first on, in the upper
// bits of bytes: in place if they fill them, else unpacked to dst.
func (r *round) symbols(dst, payload []byte, first, width int) []byte {
	if width == 8 {
		return payload[first : first+len(dst)]
	}
	r.tier.Unpack(dst, width, payload[first/8*width:])
	return dst
}
