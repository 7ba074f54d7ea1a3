package quant

import (
	"fmt"

	"gossiptrainer/quant/levels"
)

// NewNUQSGD returns the compressor of Ramezani-Kebrya et al., "NUQSGD: Provably
// Communication-efficient Data-parallel SGD via Nonuniform Quantization", 2019. Its levels halve from
// 1 down, since most coordinates are small relative to the norm of their bucket. With b bits and h =
// 2^(b−1) magnitudes they are
//
//	Zero:       0, 2^−(h−2), …, 1/4, 1/2, 1
//	Symmetric:  ±2^−(h−1), …, ±1/4, ±1/2, ±1
//
// b is 2 to 8; a bucket of 0 is the whole vector. seed is the worker's own
// stream, rng.Stream(seed, rank).
func NewNUQSGD(bits, bucket int, norm Norm, form Form, seed uint64) (*Levels, error) {
	if bits < 2 || bits > 8 {
		return nil, fmt.Errorf("quant: nuqsgd: %d bits: must be 2 to 8", bits)
	}
	return newLevels("nuqsgd", halving(bits, form), bucket, norm, seed)
}

// halving returns the table of NUQSGD.
func halving(bits int, form Form) Table {
	return tableOf(form, levels.Exponential(levels.Form(form), 1<<(bits-1), 0.5))
}
