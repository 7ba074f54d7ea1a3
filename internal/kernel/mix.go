package kernel

import (
	"math"

	"gossiptrainer/internal/kernel/asm"
)

// Mixed is the result of a mixing.
type Mixed struct {
	Done    int // coordinates mixed
	Largest int // the largest index difference
	Moved   int // coordinates with an index difference other than 0
}

// Own holds the symbols of the mixing worker. A symbol s of Width bits is the byte s·2^(8−Width).
type Own struct {
	Symbols []byte
	Low     []byte // the symbols at which the decode windows begin; nil: unknown
	Width   int    // 1 to 8
}

// Mix adds to acc the sum over the neighbours, in order, of scales[j] times the difference of
// neighbour j's index and the own one, with each product rounded to float32. The difference is that of
// the symbols modulo 256, nearest to 0, divided by 2^(8−Width). A difference of ±N/2 is a tie: it is
// −N/2 if the decode window begins at the own symbol − N/2, else +N/2. Without Low, Mix ends at a tie
// or before, and returns the number of coordinates mixed.
//
// The symbols of own and of all theirs have the length of acc, and scales that of
// theirs.
func (t Tier) Mix(acc []float32, own Own, theirs [][]byte, scales []float32) Mixed {
	var (
		saw    Mixed
		few    [usual]float32
		scaled = few[:]
		n      = 0
	)
	if len(scales) > usual {
		scaled = make([]float32, len(scales))
	}
	if t != Off && scale(scaled, scales, own.Width) {
		n = len(acc) &^ 63
	}
	switch {
	case n == 0:
	case t == AVX512 && own.Low == nil:
		saw.Done, saw.Moved, saw.Largest = asm.MixNearAVX512(acc, own.Symbols[:n], theirs, scaled[:len(scales)])
	case t == AVX512:
		saw.Done, saw.Moved, saw.Largest = asm.MixTiesAVX512(acc, own.Symbols[:n], own.Low, theirs, scaled[:len(scales)])
	case own.Low == nil:
		saw.Done, saw.Moved, saw.Largest = asm.MixNearAVX2(acc, own.Symbols[:n], theirs, scaled[:len(scales)])
	default:
		saw.Done, saw.Moved, saw.Largest = asm.MixTiesAVX2(acc, own.Symbols[:n], own.Low, theirs, scaled[:len(scales)])
	}
	saw.Largest >>= 8 - own.Width
	if saw.Done != n {
		return saw
	}
	if rest := len(acc) - n; rest >= fewestMixed && rest < mixedAtOnce && own.Low == nil && len(theirs) <= fewTheirs &&
		t != Off {
		t.mixTail(acc, own, theirs, scales, &saw)
	} else {
		mixSymbols(acc, own, theirs, scales, &saw)
	}
	return saw
}

// Bounds of what mixTail takes: it fills up memory of mixedAtOnce symbols of each neighbour.
const (
	mixedAtOnce = 64
	fewestMixed = 8
	fewTheirs   = 4
)

// mixTail mixes the coordinates after saw.Done, fewer than the lanes take at once. Symbols without difference fill up
// the lanes.
func (t Tier) mixTail(acc []float32, own Own, theirs [][]byte, scales []float32, saw *Mixed) {
	var (
		sum     [mixedAtOnce]float32
		mine    [mixedAtOnce]byte
		symbols [fewTheirs][mixedAtOnce]byte
		views   [fewTheirs][]byte
	)
	at := saw.Done
	rest := copy(sum[:], acc[at:])
	copy(mine[:], own.Symbols[at:])
	for j := range theirs {
		copy(symbols[j][:], theirs[j][at:])
		views[j] = symbols[j][:]
	}
	one := t.Mix(sum[:], Own{Symbols: mine[:], Width: own.Width}, views[:len(theirs)], scales)
	done := min(one.Done, rest)
	copy(acc[at:at+done], sum[:])
	saw.Done, saw.Largest, saw.Moved = at+done, max(saw.Largest, one.Largest), saw.Moved+one.Moved
}

// usual is the largest number of neighbours that are mixed without an allocation.
const usual = 32

// scale writes the factors of the numbers in the lanes, which are differences times 2²⁴ and
// 2^(8−width). It reports whether the factors are as exact as the scales.
func scale(scaled, scales []float32, width int) bool {
	if len(scales) == 0 {
		return false
	}
	unit := math.Float32frombits(uint32(127+width-32) << 23) // a power of two
	for j, s := range scales {
		if magnitude := math.Abs(float64(s)); magnitude != 0 && magnitude < 0x1p-90 {
			return false
		}
		scaled[j] = s * unit
	}
	return true
}

// mixSymbols is the definition of Mix, from coordinate saw.Done on.
func mixSymbols(acc []float32, own Own, theirs [][]byte, scales []float32, saw *Mixed) {
	for i := saw.Done; i < len(acc); i++ {
		sum, peak := float32(0), 0
		for j, symbols := range theirs {
			difference := int(int8(symbols[i] - own.Symbols[i]))
			if difference == -128 {
				if own.Low == nil {
					return
				}
				if own.Low[i] != own.Symbols[i]-128 {
					difference = 128
				}
			}
			difference >>= 8 - own.Width
			sum += float32(scales[j] * float32(difference))
			peak = max(peak, difference, -difference)
		}
		acc[i] += sum
		saw.Done, saw.Largest = i+1, max(saw.Largest, peak)
		if peak > 0 {
			saw.Moved++
		}
	}
}
