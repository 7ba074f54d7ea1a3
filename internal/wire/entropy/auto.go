package entropy

import "math"

// A LinkCost is the time, in seconds, to carry one byte of a payload on all links that the payload takes. It is 0 for
// links without a limit.
type LinkCost float64

// LinkCostOf returns the cost of one link with a rate in bits per second. A rate of 0, unlimited or unknown, costs 0.
func LinkCostOf(rate float64) LinkCost {
	if rate <= 0 {
		return 0
	}
	return LinkCost(8 / rate)
}

// Costs are the seconds to code and decode one byte, taken together.
type Costs struct{ Huff0, FSE float64 }

// Typical returns the costs on a current core, for the simulator: its results must not depend on a measurement of this
// machine.
func Typical() Costs { return Costs{Huff0: 3e-9, FSE: 11e-9} }

// probeLen bounds the bytes of a payload that Auto reads for its estimate.
const probeLen = 16 << 10

// A probe counts bytes.
type probe [256]int

// worthProbing reports whether coding a payload of n bytes could pay if it shrank to nothing. On a fast link it never
// does, so that Auto does nothing there.
func (c Costs) worthProbing(n int, link LinkCost) bool {
	return float64(n)*float64(link) > float64(n)*c.Huff0
}

// weigh returns the coder that makes coding, transfer and decoding take the least time. The
// payload has plain bytes; sides of them are outside the planes. The estimate reads a part
// of each plane.
func (e *Encoder) weigh(plain, sides int, link LinkCost) Coder {
	var huff, fse float64
	for i := range e.planes {
		h, f := e.probe.estimate(e.plane(i))
		huff, fse = huff+h, fse+f
	}
	bytes := float64(e.planes * e.size)
	best, least := Plain, float64(plain)*float64(link)
	for _, by := range []struct {
		coder      Coder
		size, cost float64
	}{{Huff0, huff, e.costs.Huff0}, {FSE, fse, e.costs.FSE}} {
		if took := (by.size+float64(sides))*float64(link) + bytes*by.cost; took < least {
			best, least = by.coder, took
		}
	}
	return best
}

// pieces are the places of a plane that are looked at.
const pieces = 8

// estimate returns the bytes of plane after each coder.
func (p *probe) estimate(plane []byte) (huff, fse float64) {
	clear(p[:])
	total := 0
	for i := range pieces {
		from, to := i*len(plane)/pieces, (i+1)*len(plane)/pieces
		piece := plane[from:min(to, from+probeLen/pieces)]
		for _, v := range piece {
			p[v]++
		}
		total += len(piece)
	}
	if total == 0 {
		return 0, 0
	}
	bits, most := 0.0, 0.0
	for _, n := range p {
		if n > 0 {
			share := float64(n) / float64(total)
			bits -= share * math.Log2(share)
			most = max(most, share)
		}
	}
	// A Huffman code spends at least one bit on the most frequent byte, even if its entropy
	// is lower. The other bytes share the rest of the code space.
	whole := bits
	if rest := 1 - most; most > 0.5 && rest > 0 {
		whole = 1 + bits + most*math.Log2(most) + rest*math.Log2(rest)
	}
	n := float64(len(plane)) / 8
	return n * min(8, whole), n * min(8, bits)
}
