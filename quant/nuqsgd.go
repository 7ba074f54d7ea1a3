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
	return newLevels("nuqsgd", halving(1<<(bits-1), form), 1<<bits, design{size: bucket, seed: seed}, norm)
}

// NewNUQSGDLevels returns the compressor with a number of levels: odd from 3 to 255 for Zero, even from 4 to
// 256 for Symmetric. Other arguments are those of NewNUQSGD.
func NewNUQSGDLevels(n, bucket int, norm Norm, form Form, seed uint64) (*Levels, error) {
	if err := checkLevels("nuqsgd", n, form); err != nil {
		return nil, err
	}
	return newLevels("nuqsgd", halving((n+1)/2, form), n, design{size: bucket, seed: seed}, norm)
}

// halving returns the table of NUQSGD with h magnitudes.
func halving(h int, form Form) Table {
	return tableOf(form, levels.Exponential(levels.Form(form), h, 0.5))
}
