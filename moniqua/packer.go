package moniqua

import "gossiptrainer/internal/kernel"

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
	return p.residues(dst, x, first, p.width, p.tier, q)
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
			symbol := byte(int64(p.exact(x[at], p.noise(first+at)))) & p.mask()
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
