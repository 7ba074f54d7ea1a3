package moniqua

import (
	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
)

// With one bit symbols differ by N/2 or not at all, so that the windows decide
// wherever they differ. Then all is done on packed symbols: eight to a byte.

// bits writes the integers of x modulo 2 to dst, eight to a byte. x is at most
// laneBlock long. It returns the position of the first coordinate that has none,
// or −1.
func (r *rounder) bits(dst []byte, x []float32, first int, tier kernel.Tier, q *kernel.Quantizer) int {
	var doubt [laneBlock / 8]byte
	done, doubtful := 0, false
	if q != nil {
		done, doubtful = tier.Bits(dst, x, first, q, doubt[:])
	}
	if doubtful {
		kernel.Doubtful(doubt[:done/8], func(at int) bool {
			bit := byte(int64(r.exact(x[at], r.noise(first+at)))) & 1
			dst[at/8] = dst[at/8]&^(1<<(at%8)) | bit<<(at%8)
			return true
		})
	}
	var symbols [blockLen]byte
	for ; done < len(x); done += blockLen {
		end := min(done+blockLen, len(x))
		if at := r.residuesExactly(symbols[:end-done], x[done:end], first+done, 1); at >= 0 {
			return done + at
		}
		tier.Pack(dst[done/8:], 1, symbols[:end-done])
	}
	return -1
}

// encodeBits is encodeBytes for one bit.
func (r *round) encodeBits(payload []byte, x []float32) error {
	var quantizer kernel.Quantizer
	q := r.encode.lanes(&quantizer, kernel.OfResidues, 1, len(x))
	for first := 0; first < len(x); first += laneBlock {
		part := x[first:min(first+laneBlock, len(x))]
		if at := r.encode.bits(payload[first/8:], part, first, r.tier, q); at >= 0 {
			return r.strange(part[at], first+at)
		}
	}
	return nil
}

// mixBits is mixBytes for one bit.
func (r *round) mixBits(acc, x []float32, mine []byte, in []algos.Message) (algos.Mixed, error) {
	var (
		low       [laneBlock / 8]byte
		theirs    [inLanes][]byte
		scales    [inLanes]float32
		quantizer kernel.Quantizer
		saw       kernel.Mixed
		q         = r.windows.lanes(&quantizer, kernel.OfResidues, 1, len(x))
	)
	for j := range in {
		scales[j] = float32(float64(in[j].Weight) * r.grid.Step())
	}
	for first := 0; first < len(x); first += laneBlock {
		end := min(first+laneBlock, len(x))
		if bad := r.windows.bits(low[:], x[first:end], first, r.tier, q); bad >= 0 {
			return algos.Mixed{}, r.strange(x[first+bad], first+bad)
		}
		for j := range in {
			theirs[j] = in[j].Payload[first/8:]
		}
		one := r.tier.MixBits(acc[first:end], mine[first/8:], low[:], theirs[:len(in)], scales[:len(in)])
		saw.Largest, saw.Moved = max(saw.Largest, one.Largest), saw.Moved+one.Moved
	}
	return algos.Mixed{Gap: float32(float64(saw.Largest) * r.grid.Step()), Moved: saw.Moved}, nil
}
