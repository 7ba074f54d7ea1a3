package moniqua

import (
	"math"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
)

// bytePath takes N = 2^b, b ≤ 8, without repairs: a symbol is a byte, and the lanes
// of package kernel work on the symbols alone. The own index lies within one step
// of the middle t of its decode window [t − N/2, t + N/2), so
//
//	κ'_j − κ_i = (s_j − s_i) mod N, taken nearest to 0,
//
// unless that is ±N/2: then t decides which end is meant. So a block of
// coordinates in which no symbols are N/2 apart needs neither t nor the random
// numbers in it. Where there are such, the windows are computed like indices.
type bytePath struct{}

const (
	inLanes   = 31      // neighbours that are mixed in one pass
	laneBytes = 1 << 13 // of symbols that are worked on at a time
	laneBlock = 1 << 11 // coordinates at a time, at most
)

// encode is path.encode.
func (bytePath) encode(r round, payload []byte, x []float32, v *verification) error {
	if v != nil {
		return v.encodeBytes(&r, payload, x)
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

// mix is path.mix for two bits or more.
func (bytePath) mix(r round, g gathered) (algos.Mixed, error) {
	var (
		memory    [laneBytes]byte
		windows   [laneBlock]byte
		theirs    [inLanes][]byte
		rest      [inLanes][]byte
		scales    [inLanes]float32
		quantizer kernel.Quantizer
		lows      = laner{rounder: &r.windows, width: r.width, tier: r.tier} // without q before the first tie
		saw       kernel.Mixed
		acc, x    = g.acc, g.x
		mine, in  = g.mine, g.in
		width     = r.width
		block     = min(laneBytes/(len(in)+1)&^(kernel.Step-1), laneBlock)
	)
	for j := range in {
		scales[j] = r.plain.scale(in[j].Weight)
	}
	for first := 0; first < len(x); first += block {
		n := min(block, len(x)-first)
		own := r.sent(memory[:n], mine, first)
		for j := range in {
			theirs[j] = r.sent(memory[(j+1)*block:][:n], in[j].Payload, first)
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
			if lows.q == nil {
				lows.q = r.windows.lanes(&quantizer, kernel.OfResidues, width, len(x))
			}
			ties *= 2 // ties come in crowds
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

// sent returns the symbols of payload from coordinate first on, in the upper bits
// of bytes: in place if they fill them, else unpacked to dst.
func (r *round) sent(dst, payload []byte, first int) []byte {
	if r.width == 8 {
		return payload[first : first+len(dst)]
	}
	r.tier.Unpack(dst, r.width, payload[first/8*r.width:])
	return dst
}

// A packer writes residues as a payload holds them. Symbols of 1, 2 or 4 bits the
// lanes pack as they find them, as far as coordinates are not very large beside
// the modulus; others take the way over bytes.
type packer struct {
	*rounder
	width       int
	tier        kernel.Tier
	bits, bytes kernel.Quantizer
	packs, does bool // whether the lanes can do these
}

// packer returns that of r for d coordinates and symbols of width bits.
func (r *rounder) packer(width, d int, tier kernel.Tier) packer {
	p := packer{rounder: r, width: width, tier: tier}
	p.packs = r.lanes(&p.bits, kernel.OfPacked, width, d) != nil
	p.does = r.lanes(&p.bytes, kernel.OfResidues, width, d) != nil
	return p
}

// symbols writes the integers of x, at most laneBlock, modulo 2^width to dst, a
// byte each. It returns the position of the first coordinate that has none, or −1.
func (p *packer) symbols(dst []byte, x []float32, first int) int {
	var q *kernel.Quantizer
	if p.does {
		q = &p.bytes
	}
	l := laner{p.rounder, p.width, p.tier, q}
	return l.residues(dst, x, first)
}

// pack is symbols for a bit stream.
func (p *packer) pack(dst []byte, x []float32, first int) int {
	if p.width == 8 {
		return p.symbols(dst[:len(x)], x, first)
	}
	done := 0
	if p.packs {
		done = p.inLanes(dst, x, first)
	}
	if done == len(x) {
		return -1
	}
	if at := p.overBytes(dst[done/8*p.width:], x[done:], first+done); at >= 0 {
		return done + at
	}
	return -1
}

// inLanes packs what the lanes can, a multiple of kernel.Step coordinates.
func (p *packer) inLanes(dst []byte, x []float32, first int) int {
	var doubt [laneBlock / 8]byte
	done, doubtful := p.tier.Packed(dst, x, first, &p.bits, doubt[:])
	if doubtful {
		kernel.Doubtful(doubt[:done/8], func(at int) bool {
			symbol := byte(int64(p.exact(x[at], first+at))) & p.mask()
			bit := at * p.width
			dst[bit/8] = dst[bit/8]&^(p.mask()<<(bit%8)) | symbol<<(bit%8)
			return true
		})
	}
	return done
}

func (p *packer) mask() byte { return byte(1<<p.width - 1) }

// overBytes packs all of x.
func (p *packer) overBytes(dst []byte, x []float32, first int) int {
	var symbols [laneBlock]byte
	at := p.symbols(symbols[:len(x)], x, first)
	if at < 0 {
		p.tier.Pack(dst, p.width, symbols[:len(x)])
	}
	return at
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

// A laner rounds in lanes where they can, else in fixed point.
type laner struct {
	*rounder
	width int // of residues
	tier  kernel.Tier
	q     *kernel.Quantizer // for what is asked of it; nil: the lanes cannot do these
}

// residues writes the integers of x modulo 2^width to dst, of the same length, at
// most laneBlock. It returns the position of the first coordinate that has none,
// or −1.
func (l *laner) residues(dst []byte, x []float32, first int) int {
	var doubt [laneBlock / 8]byte
	done, doubtful := 0, false
	if l.q != nil {
		done, doubtful = l.tier.Residues(dst, x, first, l.q, doubt[:])
	}
	if doubtful {
		kernel.Doubtful(doubt[:done/8], func(at int) bool {
			dst[at] = byte(int64(l.exact(x[at], first+at))) & byte(1<<l.width-1)
			return true
		})
	}
	for ; done < len(x); done += blockLen {
		end := min(done+blockLen, len(x))
		if at := l.residuesExactly(dst[done:end], x[done:end], first+done, l.width); at >= 0 {
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
