// Package kernel holds the loops that take most of the time of a round, for each tier of vector
// instructions: AVX-512, AVX2 with FMA, and none. The kernels are methods of a Tier. A caller asks
// once with Best, and a test runs each of Available.
//
// Plain Go in the same file is the definition of each kernel. Off runs it, and tests compare the other
// tiers with it. Quantizers, rounders and cells are the exception: their callers have the definition,
// and handle the doubtful coordinates. The program in gen writes the assembly, package asm. This
// package chooses the tier and handles the rest that fills no vector. Under the build tag purego, and
// on other architectures, there is no assembly.
//
// It knows nothing of codecs, models or rounds. It allocates nothing and keeps nothing between calls.
package kernel

//go:generate go -C gen run .
