// Package kernel holds the loops that take the time of a round, for each tier
// of vector instructions that a machine may have: AVX-512, AVX2 with FMA, and
// none. The kernels are methods of a Tier, so that a caller asks once with Best
// and a test runs each of Available.
//
// For every kernel there is plain Go in the same file: it is the kernel's definition.
// Off runs it, and tests compare the other tiers with it. Quantizers, rounders and cells
// alone leave it to the caller, together with the coordinates that they cannot do. The
// program in gen writes the assembly, package asm. This package chooses the tier and
// does the rest that fills no vector. Under the build tag purego, and on other
// architectures, there is no assembly.
//
// It knows nothing of codecs, models or rounds, allocates nothing and keeps
// nothing between calls.
package kernel

//go:generate go -C gen run .
