package kernel

import (
	"math"
	"unsafe"

	"gossiptrainer/internal/kernel/asm"
)

// Axpy computes dst ← dst + a·x, with a·x rounded before it is added. x is at
// least as long as dst.
func (t Tier) Axpy(dst []float32, a float32, x []float32) {
	x = x[:len(dst)]
	n := 0
	switch t {
	case AVX512:
		n = len(dst) &^ 31
		asm.AxpyAVX512(dst[:n], a, x)
	case AVX2:
		n = len(dst) &^ 15
		asm.AxpyAVX2(dst[:n], a, x)
	}
	dst, x = dst[n:], x[n:]
	for i, v := range x {
		dst[i] += float32(a * v)
	}
}

// Momentum computes m ← g + mu·m, with mu·m rounded before it is added, and copies m to g. m is at least as long as g.
//
// A subnormal sum becomes 0. Where a gradient stays 0, as that of a dead unit does, mu·m would end as such a number.
// Processors take 10 to 27 times as long for it.
func (t Tier) Momentum(g, m []float32, mu float32) {
	m = m[:len(g)]
	n := 0
	if len(g) >= 16 {
		switch t {
		case AVX512:
			n = len(g) &^ 15
			asm.MomentumAVX512(g[:n], m, mu)
		case AVX2:
			n = len(g) &^ 7
			asm.MomentumAVX2(g[:n], m, mu)
		}
	}
	for i := n; i < len(g); i++ {
		v := Normal(g[i] + float32(mu*m[i]))
		m[i], g[i] = v, v
	}
}

// Normal returns v, and 0 if v is subnormal.
func Normal(v float32) float32 {
	const exponent = 0x7F800000
	if math.Float32bits(v)&exponent == 0 {
		return 0
	}
	return v
}

// Subtract computes dst ← x − y for vectors that are larger than the caches. The result goes to memory past them. x and
// y are at least as long as dst, and either may be dst.
func (t Tier) Subtract(dst, x, y []float32) {
	x, y = x[:len(dst)], y[:len(dst)]
	from, to := 0, 0
	switch t {
	case AVX512:
		from, to = alignedPart(dst, 64)
		asm.SubtractAVX512(dst[from:to], x[from:], y[from:])
	case AVX2:
		from, to = alignedPart(dst, 32)
		asm.SubtractAVX2(dst[from:to], x[from:], y[from:])
	}
	for i := range from {
		dst[i] = x[i] - y[i]
	}
	for i := to; i < len(dst); i++ {
		dst[i] = x[i] - y[i]
	}
}

// alignedPart returns the part of v that begins at a multiple of some bytes and has a multiple of twice as many.
func alignedPart(v []float32, bytes int) (from, to int) {
	from = -int(uintptr(unsafe.Pointer(unsafe.SliceData(v)))) & (bytes - 1) / 4
	if from >= len(v) {
		return 0, 0
	}
	return from, from + (len(v)-from)&^(bytes/2-1)
}
