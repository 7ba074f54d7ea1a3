// Package kernel holds the loops that take the time of a round, for each tier
// of vector instructions that a machine may have: AVX-512, AVX2 with FMA, and
// none. The kernels are methods of a Tier, so that a caller asks once with Best
// and a test runs each of Available.
//
// For every kernel there is plain Go in the same file: it is the kernel's
// definition, what Off runs, and what the other tiers are tested against; only
// quantizers leave theirs to the caller, who also does what they cannot. The
// assembly is written by the program in gen, one file per topic. Under the build
// tag purego, and on other architectures, there is none.
//
// It knows nothing of codecs, models or rounds, allocates nothing and keeps
// nothing between calls.
package kernel

//go:generate go run ./gen
