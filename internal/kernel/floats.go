package kernel

import (
	"encoding/binary"
	"math"

	"gossiptrainer/internal/kernel/asm"
)

// MixFloats adds to acc the sum over the neighbours, in order, of weights[j] times y_j − x, with each
// product rounded to float32. theirs[j] is y_j as binary32, little-endian. It returns the largest |y_j
// − x| as bits, which are ordered like the numbers. It also returns the number of coordinates with a
// difference that is not 0.
//
// x has the length of acc, all of theirs 4 times that, and weights that of theirs.
func (t Tier) MixFloats(acc, x []float32, theirs [][]byte, weights []float32) (far uint32, moved int) {
	var lanes [16]uint32
	n := 0
	switch {
	case len(theirs) == 0:
		return 0, 0
	case t == AVX512:
		n = len(x) &^ 15
		moved = asm.MixFloatsAVX512(acc, x[:n], theirs, weights, &lanes)
	case t == AVX2:
		n = len(x) &^ 7
		moved = asm.MixFloatsAVX2(acc, x[:n], theirs, weights, &lanes)
	}
	for _, f := range lanes {
		far = max(far, f)
	}
	for i := n; i < len(x); i++ {
		sum, most := float32(0), uint32(0)
		for j, y := range theirs {
			difference := math.Float32frombits(binary.LittleEndian.Uint32(y[4*i:])) - x[i]
			sum += float32(weights[j] * difference)
			most = max(most, math.Float32bits(difference)&^(1<<31))
		}
		acc[i] += sum
		if far = max(far, most); most != 0 {
			moved++
		}
	}
	return far, moved
}
