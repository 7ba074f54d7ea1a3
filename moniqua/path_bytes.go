package moniqua

import (
	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
)

// bytePath takes N = 2^b, b ≤ 8, without repairs: a symbol is a byte, and the lanes of package kernel work on the
// symbols alone. The worker's own index lies within one step of the middle t of its decode window [t − N/2, t + N/2),
// so
//
//	κ'_j − κ_i = (s_j − s_i) mod N, taken nearest to 0,
//
// unless the difference is ±N/2, a tie: then t decides between the two ends. So a block of coordinates without ties
// needs neither t nor its random numbers. For a block with ties the windows are computed like indices.
type bytePath struct{}

const (
	laneBytes = 1 << 13 // symbols that are unpacked at a time
	byteBlock = 1 << 13 // coordinates that are mixed at a time where nothing is unpacked
)

// encode implements path.
func (bytePath) encode(r round, payload []byte, x []float32, v *verification) error {
	if v != nil {
		return encodeVerified(&r, payload, x, v)
	}
	p := r.encode.packer(r.width, len(x), r.tier)
	for first := 0; first < len(x); first += laneBlock {
		part := x[first:min(first+laneBlock, len(x))]
		if at := p.pack(payload[first/8*r.width:], part, first); at >= 0 {
			return r.strange(part[at], first+at)
		}
	}
	return nil
}

// smallLen is the number of coordinates up to which a codec makes do with small memory. Clearing the memory of larger
// models takes longer than coding so few.
const smallLen = 256

// encodeVerified is encode with v.
func encodeVerified(r *round, payload []byte, x []float32, v *verification) error {
	if len(x) <= smallLen {
		var indices [smallLen]int32
		var bytes [smallLen]byte
		return v.encode(r, payload, x, coding{indices[:], bytes[:]})
	}
	var indices [hashLen]int32
	var bytes [hashLen]byte
	return v.encode(r, payload, x, coding{indices[:], bytes[:]})
}

// A coding is the working memory of encoding: as many indices as bytes.
type coding struct {
	indices []int32
	bytes   []byte
}

// encode computes the indices of a block once, as int32, and derives the symbols, the hash and the quotients from them.
func (v *verification) encode(r *round, payload []byte, x []float32, memory coding) error {
	var (
		width     = r.width
		kept      = v.newest()
		quantizer kernel.Quantizer
		l         = laner{&r.encode, width, r.tier, r.encode.lanes(&quantizer, kernel.OfIndices, width, len(x))}
	)
	for first := 0; first < len(x); first += len(memory.bytes) {
		part := x[first:min(first+len(memory.bytes), len(x))]
		index, symbols := memory.indices[:len(part)], memory.bytes[:len(part)]
		if at := l.hashed(index, symbols, part, first, &v.hash); at >= 0 {
			return r.strange(part[at], first+at)
		}
		r.tier.Pack(payload[first/8*width:], width, symbols)
		for ; len(index) > 0; index = index[min(blockLen, len(index)):] {
			kept.data = appendQuotients(kept.data, index[:min(blockLen, len(index))], width, r.tier)
		}
	}
	return nil
}

// mix implements path for two bits or more.
func (bytePath) mix(r round, g gathered) (algos.Mixed, error) {
	if r.width == 8 {
		return r.mixBytes(&g, nil, byteBlock)
	}
	var memory [laneBytes]byte
	return r.mixBytes(&g, memory[:], min(laneBytes/(len(g.in)+1)&^(kernel.Step-1), laneBlock))
}

// mixBytes mixes block coordinates at a time. The same number of unpacked symbols of every message fits in memory.
// Symbols of 8 bits are read in place and need no memory.
func (r *round) mixBytes(g *gathered, memory []byte, block int) (algos.Mixed, error) {
	var (
		windows   [laneBlock]byte
		theirs    [usual][]byte
		rest      [usual][]byte
		scales    [usual]float32
		quantizer kernel.Quantizer
		lows      = laner{rounder: &r.windows, width: r.width, tier: r.tier} // without q before the first tie
		saw       kernel.Mixed
		acc, x    = g.acc, g.x
		mine, in  = g.mine, g.in
		width     = r.width
	)
	for j := range in {
		scales[j] = r.plain.scale(in[j].Weight)
	}
	for first := 0; first < len(x); first += block {
		n := min(block, len(x)-first)
		own := r.sent(memory, mine, first, n)
		for j := range in {
			theirs[j] = r.sent(memory[min((j+1)*block, len(memory)):], in[j].Payload, first, n)
		}
		mix := func(from, to int, low []byte) int {
			views := theirs[:len(in)]
			if from > 0 || to < n {
				for j := range in {
					rest[j] = theirs[j][from:to]
				}
				views = rest[:len(in)]
			}
			mine := kernel.Own{Symbols: own[from:to], Low: low, Width: width}
			one := r.tier.Mix(acc[first+from:first+to], mine, views, scales[:len(in)])
			saw.Largest, saw.Moved = max(saw.Largest, one.Largest), saw.Moved+one.Moved
			return from + one.Done
		}
		ties := kernel.Step // coordinates for which windows are computed at a time
		for at := 0; at < n; {
			if at = mix(at, n, nil); at == n {
				break
			}
			begin := at &^ (kernel.Step - 1)
			if lows.q == nil {
				lows.q = r.windows.lanes(&quantizer, kernel.OfResidues, width, len(x))
			}
			ties = min(2*ties, laneBlock) // ties come in clusters
			low := windows[:min(ties, n-begin)]
			part := x[first+begin:][:len(low)]
			if bad := lows.residues(low, part, first+begin); bad >= 0 {
				return algos.Mixed{}, r.strange(part[bad], first+begin+bad)
			}
			r.tier.Raise(low, width)
			at = mix(at, begin+len(low), low[at-begin:])
		}
	}
	return r.mixed(saw.Largest, saw.Moved), nil
}
