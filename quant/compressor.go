package quant

import (
	"errors"
	"fmt"
	"math"

	"gossiptrainer/internal/vec"
)

// A Compressor C(·) encodes a vector in fewer bytes, and decodes them to another vector. Sender and
// receiver both decode with AddTo, so both have the same C(z), bit for bit. A compressor with buckets
// cuts a vector every Bucket coordinates. Each bucket has its own scale, and the last one may be
// shorter.
//
// A compressor belongs to the worker whose vectors it compresses. Its random numbers are a function of
// (seed, round, coordinate). A receiver that needs them again has a compressor with the sender's seed.
// None is safe for concurrent use. A compressor with state from round to round is a state.Keeper.
type Compressor interface {
	// Compress appends the payload of z in round k to dst. It fails on NaN and Inf, and leaves dst
	// unchanged then.
	Compress(dst []byte, k int, z []float32) ([]byte, error)
	// Check returns an error for an invalid payload of d coordinates.
	Check(d int, payload []byte) error
	// Bound returns a magnitude that no coordinate of C(z) exceeds, for a payload of d coordinates
	// that Check accepts.
	Bound(d int, payload []byte) float32
	// AddTo computes acc ← acc + w·C(z), with C(z) rounded to float32. It fails on a payload that
	// Check refuses, and leaves acc unchanged then.
	AddTo(acc []float32, w float32, k int, payload []byte) error
	Described
}

// Described is the description of a compressor before any vector.
type Described interface {
	// Len returns the bytes of the largest payload of d coordinates.
	Len(d int) int
	// Bits returns the bits per coordinate without headers, rounded up; the largest number if they
	// change, 32 if they are not fixed.
	Bits() int
	// Layout describes the parts of a payload of d coordinates for the entropy coder; Bytes(Len(d))
	// describes none.
	Layout(d int) Layout
	Properties() Properties
}

// A Varying compressor has payloads of several layouts; Layout does not tell which one a payload has.
type Varying interface {
	LayoutOf(d int, payload []byte) Layout
}

// A Scaler is an unbiased compressor that can be scaled to a contraction.
type Scaler interface{ Scale() error }

// A Clipper can limit z to c standard deviations of its bucket.
type Clipper interface{ Clip(c float64) error }

// A Varied compressor computes E |C(z) − z|² in closed form, before scaling.
type Varied interface{ Variance(z []float32) float64 }

// An Entropic compressor computes the bits of a payload of d coordinates with an ideal code for its
// symbols.
type Entropic interface {
	IdealBits(d int, payload []byte) (float64, error)
}

// fullBits are the Bits of a compressor without a fixed number of bits.
const fullBits = 32

// Properties are the mathematical properties of a compressor.
type Properties struct {
	Unbiased      bool // E C(z) = z
	Contraction   bool // E |C(z) − z|² ≤ (1−ω)|z|² for an ω > 0
	Deterministic bool // C(z) depends only on z
	Scalable      bool // unbiased with E |C(z) − z|² ≤ q·|z|²: Scale makes it a contraction
}

// A Mode is the rounding of a value between two grid points.
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

// checkVector refuses to compress NaN and Inf.
func checkVector(name string, k int, z []float32) error {
	if !vec.Finite(z) {
		return fmt.Errorf("quant: %s: round %d: a vector of %d coordinates %w", name, k, len(z), errNotFinite)
	}
	return nil
}

// checkLen returns an error unless a payload has the wanted length.
func checkLen(name string, payload []byte, want, d int) error {
	if len(payload) != want {
		return fmt.Errorf("quant: %s: %d bytes: %d coordinates take %d", name, len(payload), d, want)
	}
	return nil
}

// finite reports whether v is neither NaN nor Inf.
func finite(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }
