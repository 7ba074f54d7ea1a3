package quant

import (
	"errors"
	"fmt"
	"math"

	"gossiptrainer/internal/vec"
)

// A compressor C(·) turns a vector into fewer bytes than it has and those into
// another vector. The types of this package that have Compress, Check,
// Bound and AddTo are compressors:
//
//	Compress(dst, k, z)        appends the payload of z in round k
//	Check(d, payload)          says whether payload is one of d coordinates
//	Bound(d, payload)          a magnitude that no coordinate of C(z) exceeds
//	AddTo(acc, w, k, payload)  acc ← acc + w·C(z), C(z) rounded to float32
//
// Sender and receiver both decode with AddTo, so that both have the same C(z),
// bit for bit. A vector that is cut into buckets is cut every so many
// coordinates whatever they belong to; each bucket has its own scale, and the
// last one may be shorter. Compress fails, with dst as it was, on NaN and Inf;
// AddTo leaves acc alone if Check finds fault with the payload.
//
// A compressor belongs to the worker whose vectors it compresses: what it draws
// at random is a function of (seed, round, coordinate), and a receiver that
// needs it again has a compressor with the sender's seed. None is safe for
// concurrent use.

// Properties are what a compressor says of itself.
type Properties struct {
	Unbiased      bool // E C(z) = z
	Contraction   bool // E |C(z) − z|² ≤ (1−ω)|z|² for an ω > 0
	Deterministic bool // C(z) depends on z alone
	Scalable      bool // unbiased with E |C(z) − z|² ≤ q·|z|²: Scale makes it a contraction
}

// A Mode says how a value between two grid points is rounded.
type Mode int

const (
	// Nearest takes ⌊v + 1/2⌋: half steps go up.
	Nearest Mode = iota
	// Stochastic takes ⌊v + u⌋ with u uniform in [0, 1): unbiased.
	Stochastic
)

// ParseMode returns the mode of that name: nearest or stochastic.
func ParseMode(name string) (Mode, error) {
	switch name {
	case "nearest":
		return Nearest, nil
	case "stochastic":
		return Stochastic, nil
	}
	return 0, fmt.Errorf("quant: rounding mode %q: must be nearest or stochastic", name)
}

var errNotFinite = errors.New("holds NaN or Inf")

// checkVector refuses to compress what is not a number.
func checkVector(name string, k int, z []float32) error {
	if !vec.Finite(z) {
		return fmt.Errorf("quant: %s: round %d: a vector of %d coordinates %w", name, k, len(z), errNotFinite)
	}
	return nil
}

// checkLen compares the length of a payload with what it must be.
func checkLen(name string, payload []byte, want, d int) error {
	if len(payload) != want {
		return fmt.Errorf("quant: %s: %d bytes: %d coordinates take %d", name, len(payload), d, want)
	}
	return nil
}

// finite reports whether v is neither NaN nor Inf.
func finite(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }
