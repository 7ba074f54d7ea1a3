package data

import (
	"fmt"
	"math/bits"

	"gossiptrainer/internal/rng"
)

// samplerDomain separates the numbers of samplers from all others under a seed.
const samplerDomain = 0x73616d706c657273 // "samplers"

// A Sampler draws the mini-batches of one worker: without replacement within an epoch, and in
// another order every epoch. Round k takes the positions k·batch .. (k+1)·batch − 1 of the
// endless sequence of epochs. A batch may thus end one epoch and begin the next, and may be
// larger than the shard. The rows of a round are a function of (seed, worker, round, batch,
// samples) alone.
type Sampler struct {
	seed           uint64
	samples, batch int
}

// NewSampler returns the sampler of a worker whose shard has the given number of
// samples, 1..2³².
func NewSampler(seed uint64, worker, samples, batch int) (Sampler, error) {
	if samples < 1 || uint64(samples) > 1<<32 {
		return Sampler{}, fmt.Errorf("data: sampler: worker %d: %d samples: want 1..2^32", worker, samples)
	}
	if batch < 1 {
		return Sampler{}, fmt.Errorf("data: sampler: batch %d: want at least 1", batch)
	}
	return Sampler{rng.Stream(seed^samplerDomain, worker), samples, batch}, nil
}

// Append appends the rows of round k ≥ 0 to dst: batch positions 0..samples−1 in
// the shard.
func (s Sampler) Append(dst []int, k int) []int {
	at := k * s.batch
	epoch, position := at/s.samples, at%s.samples
	order := s.epoch(epoch)
	for range s.batch {
		if position == s.samples {
			epoch, position = epoch+1, 0
			order = s.epoch(epoch)
		}
		dst = append(dst, int(order.at(uint64(position))))
		position++
	}
	return dst
}

func (s Sampler) epoch(e int) permutation {
	return newPermutation(rng.At(s.seed, e), uint64(s.samples))
}

// A permutation shuffles 0..n−1 without a table: a Feistel network on the
// ⌈log₂ n⌉ bits of a position, walked along its cycles until the value is below n
// (J. Black and P. Rogaway, "Ciphers with arbitrary finite domains", 2002).
type permutation struct {
	key          rng.Key
	n            uint64
	low          int // bits of the right half, at most 16
	maskL, maskR uint32
}

// feistelRounds is the number of half rounds. Four suffice for a pseudorandom permutation if halves are wide (Luby and
// Rackoff); halves here can be one bit.
const feistelRounds = 8

func newPermutation(key rng.Key, n uint64) permutation {
	width := bits.Len64(n - 1)
	low := (width + 1) / 2
	return permutation{key: key, n: n, low: low, maskL: 1<<(width-low) - 1, maskR: 1<<low - 1}
}

// at returns the new position of position i < n.
func (p permutation) at(i uint64) uint64 {
	for {
		i = p.network(i)
		if i < p.n {
			return i
		}
	}
}

func (p permutation) network(i uint64) uint64 {
	left, right := uint32(i>>p.low), uint32(i)&p.maskR
	for round := uint32(0); round < feistelRounds; round += 2 {
		left ^= p.key.Raw(round<<16|right) & p.maskL
		right ^= p.key.Raw((round+1)<<16|left) & p.maskR
	}
	return uint64(left)<<p.low | uint64(right)
}
