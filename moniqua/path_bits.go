package moniqua

import (
	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
)

// bitPath takes one bit. Two symbols are equal or differ by N/2, so the windows decide wherever they differ. All work
// is done on packed symbols, eight to a byte.
type bitPath struct{ bytePath }

// mix implements path.
func (bitPath) mix(r round, g gathered) (algos.Mixed, error) {
	var (
		low     [laneBlock / 8]byte
		views   [usual][]byte
		factors [usual]float32
		theirs  = room(views[:], len(g.in))
		scales  = room(factors[:], len(g.in))
		saw     kernel.Mixed
		acc, x  = g.acc, g.x
		in      = g.in
		windows = r.windows.packer(1, len(x), r.tier)
	)
	for j := range in {
		scales[j] = r.plain.scale(in[j].Weight)
	}
	for first := 0; first < len(x); first += laneBlock {
		end := min(first+laneBlock, len(x))
		if bad := windows.pack(low[:], x[first:end], first); bad >= 0 {
			return algos.Mixed{}, r.strange(x[first+bad], first+bad)
		}
		for j := range in {
			theirs[j] = in[j].Payload[first/8:]
		}
		one := r.tier.MixBits(acc[first:end], g.mine[first/8:], low[:], theirs, scales)
		saw.Largest, saw.Moved = max(saw.Largest, one.Largest), saw.Moved+one.Moved
	}
	return r.mixed(saw.Largest, saw.Moved), nil
}
