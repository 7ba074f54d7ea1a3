package kernel

import (
	"math/bits"

	"gossiptrainer/internal/kernel/asm"
)

// A Hash is XXH64 with seed 0 over int32 numbers, little-endian, added piece by piece (Collet, "xxHash
// fast digest algorithm", 2014). Reset begins it.
type Hash struct {
	lanes [4]uint64
	rest  [8]int32 // numbers that fill no stripe yet
	count int
}

const (
	prime1 = asm.Prime1
	prime2 = asm.Prime2
	prime3 = 0x165667B19E3779F9
	prime4 = 0x85EBCA77C2B2AE63
	prime5 = 0x27D4EB2F165667C5
	stripe = 8 // numbers
)

// Reset forgets all numbers.
func (h *Hash) Reset() {
	first, second := uint64(prime1), uint64(prime2)
	*h = Hash{lanes: [4]uint64{first + second, second, 0, -first}}
}

// Hash continues h with the numbers k. Vector instructions do only half of the multiplications: every
// stripe depends on the one before.
func (t Tier) Hash(h *Hash, k []int32) {
	if held := h.count % stripe; held > 0 {
		n := copy(h.rest[held:], k)
		h.count, k = h.count+n, k[n:]
		if held+n < stripe {
			return
		}
		hashStripes(&h.lanes, h.rest[:])
	}
	n := len(k) &^ (stripe - 1)
	if t == Off {
		hashStripes(&h.lanes, k[:n])
	} else {
		asm.HashAVX2(&h.lanes, k[:n])
	}
	h.count += len(k)
	copy(h.rest[:], k[n:])
}

// HashAll continues each hash with the numbers at its place in k, all of one length. It takes little
// longer than one of them.
func (t Tier) HashAll(hashes []Hash, k [][]int32) {
	for len(hashes) > 0 {
		n := t.hashSome(hashes, k)
		hashes, k = hashes[n:], k[n:]
	}
}

// hashSome continues up to four of them.
func (t Tier) hashSome(hashes []Hash, k [][]int32) int {
	streams := min(len(hashes), 4)
	numbers := len(k[0])
	if t != AVX512 || streams == 1 || numbers%stripe != 0 || hashes[0].count%stripe != 0 {
		t.Hash(&hashes[0], k[0])
		return 1
	}
	var (
		lanes [4][4]uint64
		data  [4][]int32
	)
	for s := range streams {
		lanes[s], data[s] = hashes[s].lanes, k[s][:numbers]
	}
	switch streams {
	case 2:
		asm.Hash2AVX512(&lanes, &data, numbers/stripe)
	case 3:
		asm.Hash3AVX512(&lanes, &data, numbers/stripe)
	case 4:
		asm.Hash4AVX512(&lanes, &data, numbers/stripe)
	}
	for s := range streams {
		hashes[s].lanes = lanes[s]
		hashes[s].count += numbers
	}
	return streams
}

func mixIn(lane, input uint64) uint64 {
	return bits.RotateLeft64(lane+input*prime2, 31) * prime1
}

// hashStripes is the definition of a hash's stripes.
func hashStripes(lanes *[4]uint64, k []int32) {
	a, b, c, d := lanes[0], lanes[1], lanes[2], lanes[3]
	for ; len(k) >= stripe; k = k[stripe:] {
		a = mixIn(a, pair(k[0], k[1]))
		b = mixIn(b, pair(k[2], k[3]))
		c = mixIn(c, pair(k[4], k[5]))
		d = mixIn(d, pair(k[6], k[7]))
	}
	lanes[0], lanes[1], lanes[2], lanes[3] = a, b, c, d
}

// pair returns the 8 bytes of two numbers.
func pair(low, high int32) uint64 { return uint64(uint32(low)) | uint64(uint32(high))<<32 }

// Sum returns the hash of all numbers since Reset.
func (h *Hash) Sum() uint64 {
	sum := uint64(prime5)
	if h.count >= stripe {
		l := &h.lanes
		sum = bits.RotateLeft64(l[0], 1) + bits.RotateLeft64(l[1], 7) + bits.RotateLeft64(l[2],
			12) + bits.RotateLeft64(l[3], 18)
		for _, lane := range l {
			sum = (sum^mixIn(0, lane))*prime1 + prime4
		}
	}
	sum += 4 * uint64(h.count)
	rest := h.rest[:h.count%stripe]
	for ; len(rest) >= 2; rest = rest[2:] {
		sum = bits.RotateLeft64(sum^mixIn(0, pair(rest[0], rest[1])), 27)*prime1 + prime4
	}
	if len(rest) > 0 {
		sum = bits.RotateLeft64(sum^uint64(uint32(rest[0]))*prime1, 23)*prime2 + prime3
	}
	sum = (sum ^ sum>>33) * prime2
	sum = (sum ^ sum>>29) * prime3
	return sum ^ sum>>32
}
