package moniqua

import (
	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
)

// manyPath takes what bytePath takes, of any number of neighbours, with working memory off the stack. Among many
// neighbours a tie is likely, and the windows cost little beside the mixing. So it computes them for all coordinates.
type manyPath struct{ bytePath }

// mix implements path.
func (manyPath) mix(r round, g gathered) (algos.Mixed, error) {
	const block = laneBlock
	var (
		low       [block]byte
		quantizer kernel.Quantizer
		lows      = laner{&r.windows, r.width, r.tier, r.windows.lanes(&quantizer, kernel.OfResidues, r.width, len(g.x))}
		theirs    = make([][]byte, len(g.in))
		scales    = make([]float32, len(g.in))
		memory    []byte
		saw       kernel.Mixed
	)
	if r.width < 8 {
		memory = make([]byte, block*(1+len(g.in)))
	}
	for j := range g.in {
		scales[j] = r.plain.scale(g.in[j].Weight)
	}
	for first := 0; first < len(g.x); first += block {
		x := g.x[first:min(first+block, len(g.x))]
		n := len(x)
		if bad := lows.residues(low[:n], x, first); bad >= 0 {
			return algos.Mixed{}, r.strange(x[bad], first+bad)
		}
		r.tier.Raise(low[:n], r.width)
		own := kernel.Own{Symbols: r.sent(memory, g.mine, first, n), Low: low[:n], Width: r.width}
		for j := range g.in {
			theirs[j] = r.sent(memory[min((j+1)*block, len(memory)):], g.in[j].Payload, first, n)
		}
		one := r.tier.Mix(g.acc[first:first+n], own, theirs, scales)
		saw.Largest, saw.Moved = max(saw.Largest, one.Largest), saw.Moved+one.Moved
	}
	return r.mixed(saw.Largest, saw.Moved), nil
}
