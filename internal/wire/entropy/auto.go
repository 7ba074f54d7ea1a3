package entropy

import "math"

// A Toll is what it takes to carry one byte of a payload on all links that it
// goes to: seconds, 0 if nothing holds it up.
type Toll float64

// TollOf returns the toll of one link that carries so many bits per second, 0 if
// that is 0, which stands for unlimited or unknown.
func TollOf(rate float64) Toll {
	if rate <= 0 {
		return 0
	}
	return Toll(8 / rate)
}

// Costs are the seconds that coding one byte and decoding it take together.
type Costs struct{ Huff0, FSE float64 }

// Typical are the costs of a core of today, for who must not measure them: the
// simulator, whose results do not depend on the machine it runs on.
func Typical() Costs { return Costs{Huff0: 3e-9, FSE: 11e-9} }

// probeLen is how much of a payload Auto looks at, at most.
const probeLen = 16 << 10

// A probe counts bytes.
type probe [256]int

// worthProbing reports whether a payload of n bytes that shrank to nothing
// would be worth its coding: on a fast link none is, and there is nothing to do.
func (c Costs) worthProbing(n int, toll Toll) bool {
	return float64(n)*float64(toll) > float64(n)*c.Huff0
}

// weigh returns the coder that makes coding, transfer and decoding take the least time. The
// payload has plain bytes, of which sides are outside the planes. The estimate reads a part
// of each plane.
func (e *Encoder) weigh(plain, sides int, toll Toll) Coder {
	var huff, fse float64
	for i := range e.planes {
		h, f := e.probe.estimate(e.plane(i))
		huff, fse = huff+h, fse+f
	}
	bytes := float64(e.planes * e.size)
	best, least := Plain, float64(plain)*float64(toll)
	for _, by := range []struct {
		coder      Coder
		size, cost float64
	}{{Huff0, huff, e.costs.Huff0}, {FSE, fse, e.costs.FSE}} {
		if took := (by.size+float64(sides))*float64(toll) + bytes*by.cost; took < least {
			best, least = by.coder, took
		}
	}
	return best
}

// pieces are the places of a plane that are looked at.
const pieces = 8

// estimate returns the bytes that the coders make of plane.
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
