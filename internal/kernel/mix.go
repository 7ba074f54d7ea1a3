package kernel

import "math"

// Mixed is what a mixing saw.
type Mixed struct {
	Largest int // the largest index difference
	Moved   int // coordinates that have one
}

// Near reports whether no symbol of theirs is N/2 away from own, modulo N = 2^width:
// the differences of the indices are then those of the symbols nearest to 0,
// whatever the windows.
func (t Tier) Near(own, theirs []byte, width int) bool {
	n, mask, half := 0, uint32(1)<<width-1, uint32(1)<<width/2
	switch t {
	case AVX512:
		n = len(own) &^ 63
		if tiesAVX512(own[:n], theirs[:n], mask*everyByte, half*everyByte) != 0 {
			return false
		}
	case AVX2:
		n = len(own) &^ 31
		if tiesAVX2(own[:n], theirs[:n], mask*everyByte, half*everyByte) != 0 {
			return false
		}
	}
	theirs = theirs[n:len(own)]
	for i, s := range own[n:] {
		if (theirs[i]-s)&byte(mask) == byte(half) {
			return false
		}
	}
	return true
}

const everyByte = 0x01010101

// Mix adds to acc the sum over the neighbours, in order, of scales[j] times the
// difference of neighbour j's index and the own one, each product rounded to
// float32. Symbols are bytes 0..N−1, N = 2^width. low are the residues of the
// windows' low ends, nil if Near holds for all of theirs:
//
//	difference = (their symbol − low) mod N − (own symbol − low) mod N
//
// own, low and all theirs have the length of acc, and scales that of theirs.
func (t Tier) Mix(acc []float32, own, low []byte, theirs [][]byte, scales []float32, width int) Mixed {
	n, moved := 0, 0
	var peaks [64]byte
	mask, half := uint32(1)<<width-1, uint32(1)<<width/2
	// The lanes hold differences as signed bytes, times 2²⁴ in the products.
	possible := len(theirs) > 0 && (low == nil || width < 8) && ordinary(scales)
	switch {
	case t == AVX512 && possible:
		n = len(acc) &^ 63
		if low == nil {
			moved = mixNearAVX512(acc, own[:n], theirs, scales, mask*everyByte, half*everyByte, &peaks)
		} else {
			moved = mixAnyAVX512(acc, own[:n], low, theirs, scales, mask*everyByte, &peaks)
		}
	case t == AVX2 && possible:
		n = len(acc) &^ 31
		if low == nil {
			moved = mixNearAVX2(acc, own[:n], theirs, scales, mask*everyByte, half*everyByte, &peaks)
		} else {
			moved = mixAnyAVX2(acc, own[:n], low, theirs, scales, mask*everyByte, &peaks)
		}
	}
	saw := Mixed{Moved: moved}
	for _, p := range peaks {
		saw.Largest = max(saw.Largest, int(p))
	}
	mixSymbols(acc, own, low, theirs, scales, width, n, &saw)
	return saw
}

// ordinary reports whether dividing the scales by 2²⁴ is exact.
func ordinary(scales []float32) bool {
	for _, s := range scales {
		if magnitude := math.Abs(float64(s)); magnitude != 0 && magnitude < 0x1p-100 {
			return false
		}
	}
	return true
}

// mixSymbols is the definition of Mix, from coordinate first on.
func mixSymbols(acc []float32, own, low []byte, theirs [][]byte, scales []float32, width, first int, saw *Mixed) {
	mask, half := byte(1)<<width-1, byte(1)<<(width-1)
	for i := first; i < len(acc); i++ {
		start := own[i] - half
		if low != nil {
			start = low[i]
		}
		place := int((own[i] - start) & mask)
		sum, peak := float32(0), 0
		for j, symbols := range theirs {
			difference := int((symbols[i]-start)&mask) - place
			sum += float32(scales[j] * float32(difference))
			peak = max(peak, difference, -difference)
		}
		acc[i] += sum
		saw.Largest = max(saw.Largest, peak)
		if peak > 0 {
			saw.Moved++
		}
	}
}
