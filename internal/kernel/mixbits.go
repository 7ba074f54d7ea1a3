package kernel

import "gossiptrainer/internal/kernel/asm"

// MixBits is Mix for symbols of one bit, eight to a byte, least significant bit first. Where two
// symbols differ it is a tie, and all neighbours that differ from the own symbol lie on the same side.
// So it unpacks nothing. It mixes all coordinates.
//
// own, low and all theirs hold as many bits as acc has coordinates.
func (t Tier) MixBits(acc []float32, own, low []byte, theirs [][]byte, scales []float32) Mixed {
	n, moved := 0, 0
	if t != Off && len(theirs) > 0 {
		n = len(acc) &^ 63
	}
	switch t {
	case AVX512:
		moved = asm.MixBitsAVX512(acc[:n], own, low, theirs, scales)
	case AVX2:
		moved = asm.MixBitsAVX2(acc[:n], own, low, theirs, scales)
	}
	for i := n; i < len(acc); i++ {
		sum, differs := float32(0), false
		for j, symbols := range theirs {
			if (symbols[i/8]^own[i/8])>>(i%8)&1 == 0 {
				continue
			}
			differs = true
			if (low[i/8]^own[i/8])>>(i%8)&1 == 0 {
				sum += scales[j]
			} else {
				sum -= scales[j]
			}
		}
		acc[i] += sum
		if differs {
			moved++
		}
	}
	return Mixed{Done: len(acc), Largest: min(moved, 1), Moved: moved}
}
