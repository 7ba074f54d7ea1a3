package quant

import (
	"errors"
	"fmt"
	"math"

	"gossiptrainer/internal/vec"
)

// A Compressor C(·) turns a vector into fewer bytes than it has, and those into
// another vector. Sender and receiver both decode with AddTo, so that both have
// the same C(z), bit for bit. A vector that is cut into buckets is cut every so
// many coordinates whatever they belong to; each bucket has its own scale, and the
// last one may be shorter.
//
// A compressor belongs to the worker whose vectors it compresses. Its random
// numbers are a function of (seed, round, coordinate). A receiver that
// needs them again has a compressor with the sender's seed. None is safe for
// concurrent use. One that carries something from round to round is a state.Keeper.
type Compressor interface {
	// Compress appends the payload of z in round k to dst. It fails, with dst as
	// it was, on NaN and Inf.
	Compress(dst []byte, k int, z []float32) ([]byte, error)
	// Check finds faults with the payload of d coordinates.
	Check(d int, payload []byte) error
	// Bound returns a magnitude that no coordinate of C(z) exceeds, of a payload
	// of d coordinates with which Check finds no fault.
	Bound(d int, payload []byte) float32
	// AddTo computes acc ← acc + w·C(z), C(z) rounded to float32. It fails, with
	// acc as it was, on a payload with which Check finds fault.
	AddTo(acc []float32, w float32, k int, payload []byte) error
	Described
}

// Described is what a compressor says of itself before it has seen a vector.
type Described interface {
	// Len returns the bytes of the largest payload of d coordinates.
	Len(d int) int
	// Bits returns the bits that a coordinate takes without headers, rounded up,
	// the most where they change; 32 where there is no fixed number of them.
	Bits() int
	// Layout says how a payload of d coordinates is cut, for the entropy coder;
	// Bytes(Len(d)) says nothing.
	Layout(d int) Layout
	Properties() Properties
}

// A Scaler is an unbiased compressor that can be scaled to a contraction.
type Scaler interface{ Scale() error }

// A Clipper can see z limited to c standard deviations of its bucket instead of z.
type Clipper interface{ Clip(c float64) error }

// A Varied compressor knows E |C(z) − z|² in closed form, before scaling.
type Varied interface{ Variance(z []float32) float64 }

// An Entropic compressor counts the bits of a payload of d coordinates whose
// symbols are coded as well as their frequencies allow.
type Entropic interface {
	IdealBits(d int, payload []byte) (float64, error)
}

// fullBits are those of a coordinate that no fixed number of bits stands for.
const fullBits = 32

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

// checkVector refuses to compress NaN and Inf.
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
