// Package rng gives randomness by address: every value is a function of (seed, round,
// index). So two workers draw the same numbers without exchanging any, and so does one worker
// after a restart.
//
// The package keeps no state and is not cryptographic.
//
// The generator is one 64-bit mix per round and three 32-bit multiplications
// per index:
//
//	key(seed, round)    = mix64(seed + G·(round+1)) = k1·2³² + k0
//	raw(seed, round, i) = hash32(i ^ k0, k1)
//	u(seed, round, i)   = ⌊raw/2⁸⌋·2⁻²⁴
//
// mix64 is the finaliser of Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators" (2014), without its first addition.
package rng

const (
	golden    = 0x9E3779B97F4A7C15 // G: 2⁶⁴ divided by the golden ratio, odd
	streamMul = 0xD1342543DE82EF95
)

// mix64 is the bijection of 64-bit words from which keys and streams are made.
func mix64(z uint64) uint64 {
	z ^= z >> 30
	z *= 0xBF58476D1CE4E5B9
	z ^= z >> 27
	z *= 0x94D049BB133111EB
	return z ^ z>>31
}

// Stream returns the seed of worker p's own randomness, independent of the
// shared randomness under seed and of every other worker's.
func Stream(seed uint64, p int) uint64 {
	return mix64(seed + streamMul*(uint64(p)+1))
}

// Edge returns the seed that the two ends i and j of a link share: the same
// for (i, j) and (j, i).
func Edge(seed uint64, i, j int) uint64 {
	return Stream(Stream(seed, min(i, j)), max(i, j))
}

// A Key addresses all numbers of one (seed, round). Its fields are exported
// for kernels that generate many indices at once.
type Key struct {
	K0, K1 uint32
}

// At returns the key of a round, round ≥ 0.
func At(seed uint64, round int) Key {
	key := mix64(seed + golden*(uint64(round)+1))
	return Key{K0: uint32(key), K1: uint32(key >> 32)}
}

// Raw returns 32 random bits for index i.
func (k Key) Raw(i uint32) uint32 {
	z := i ^ k.K0
	z *= 0x9E3779B1
	z ^= z >> 16
	z += k.K1
	z *= 0x7FEB352D
	z ^= z >> 15
	z *= 0x846CA68B
	return z ^ z>>16
}

// Uniform returns a number in [0, 1) for index i: a multiple of 2⁻²⁴, hence
// exact in float32.
func (k Key) Uniform(i uint32) float32 {
	return float32(k.Raw(i)>>8) * (1.0 / (1 << 24))
}

// Below returns a number in 0..m−1 for index i: ⌊raw·m/2³²⌋, for 1 ≤ m ≤ 2³².
func (k Key) Below(i uint32, m uint64) uint64 { return uint64(k.Raw(i)) * m >> 32 }

// Shuffle is the descending shuffle of Fisher and Yates with the numbers of a key: position i, from the last one down
// to 1, changes places with position Below(i, i+1).
func Shuffle[T any](list []T, k Key) {
	for i := len(list) - 1; i > 0; i-- {
		j := k.Below(uint32(i), uint64(i+1))
		list[i], list[j] = list[j], list[i]
	}
}
