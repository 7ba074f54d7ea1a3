package safetensors

import (
	"encoding/binary"
	"math"
)

// Floats reports whether Decode and Encode know a type.
func Floats(dtype string) bool {
	switch dtype {
	case "F64", "F32", "F16", "BF16":
		return true
	}
	return false
}

// Decode converts the elements of a type that Floats knows. It fills dst from raw, which has len(dst) elements. The
// conversion is exact.
func Decode(dst []float64, raw []byte, dtype string) {
	for i := range dst {
		switch dtype {
		case "F64":
			dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
		case "F32":
			dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
		case "BF16":
			dst[i] = float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:])) << 16))
		case "F16":
			dst[i] = Half(binary.LittleEndian.Uint16(raw[2*i:]))
		default:
			panic("internal error: safetensors: no floats: " + dtype)
		}
	}
}

// Append converts numbers to a type that Floats knows and appends them to dst. It rounds to the nearest element, to the
// even one of two.
func Append(dst []byte, src []float64, dtype string) []byte {
	for _, v := range src {
		switch dtype {
		case "F64":
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
		case "F32":
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v)))
		case "BF16":
			dst = binary.LittleEndian.AppendUint16(dst, narrow(v, 8, 7))
		case "F16":
			dst = binary.LittleEndian.AppendUint16(dst, narrow(v, 5, 10))
		default:
			panic("internal error: safetensors: no floats: " + dtype)
		}
	}
	return dst
}

// Half returns the value of a number of IEEE 754 binary16.
func Half(h uint16) float64 {
	exponent, fraction := int(h>>10&0x1f), float64(h&0x3ff)
	v := math.Ldexp(fraction, -24) // subnormal
	switch {
	case exponent == 0x1f && fraction > 0:
		v = math.NaN()
	case exponent == 0x1f:
		v = math.Inf(1)
	case exponent > 0:
		v = math.Ldexp(1024+fraction, exponent-25)
	}
	if h>>15 == 1 {
		v = -v
	}
	return v
}

// narrow returns the bits of the nearest number with a sign and these numbers of bits of exponent and fraction.
func narrow(v float64, exponent, fraction int) uint16 {
	sign := uint16(0)
	if math.Signbit(v) {
		sign, v = 1<<15, -v
	}
	infinite := uint16(1<<exponent-1) << fraction
	switch {
	case math.IsNaN(v):
		return infinite | 1<<(fraction-1)
	case v == 0:
		return sign
	}
	bias := 1<<(exponent-1) - 1
	_, e := math.Frexp(v) // v in [2^(e−1), 2^e)
	e = max(e-1, 1-bias)  // exponent of the result, or of the subnormal numbers
	unit := e - fraction  // of the last place
	n := math.RoundToEven(math.Ldexp(v, -unit))
	// With n = 2^fraction·(1 + f) the bits follow each other across the exponents: a carry makes the next one.
	bits := n + float64(e+bias-1)*math.Ldexp(1, fraction)
	if !(bits < float64(infinite)) {
		return sign | infinite
	}
	return sign | uint16(bits)
}
