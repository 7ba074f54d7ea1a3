package topology

import (
	"slices"
	"strings"
)

// A Kind names a family of graphs.
type Kind string

// Kinds with one symmetric matrix of Metropolis weights. All are simple and undirected. A neighbour that a rule names
// twice counts once; the worker itself does not count.
const (
	Ring          Kind = "ring"           // i ~ i±1 mod n
	Torus         Kind = "torus"          // a grid of rows × cols whose sides wrap around
	Complete      Kind = "complete"       // all pairs
	Star          Kind = "star"           // 0 ~ i
	Path          Kind = "path"           // i ~ i+1
	Exponential   Kind = "exponential"    // i ~ i±2ᵐ mod n, 2ᵐ < n
	Hypercube     Kind = "hypercube"      // i ~ i xor 2ᵐ, n a power of two
	RandomRegular Kind = "random-regular" // every worker has Degree neighbours, drawn from the seed
	SmallWorld    Kind = "small-world"    // a ring lattice of Degree neighbours, whose edges move with chance P
	ErdosRenyi    Kind = "erdos-renyi"    // each pair with chance P
	EdgeList      Kind = "edges"          // any connected simple graph
)

// Kinds whose matrices are directed or change from exchange to exchange, with τ = ⌈log₂ n⌉. Where a worker has one peer
// at a time, both weights are 1/2 unless the kind says otherwise.
const (
	// OnePeerExponential: in exchange s worker i takes from i + 2^(s mod τ) and sends to i − 2^(s mod τ), mod n (Assran
	// et al. 2019; Ying et al. 2021).
	OnePeerExponential Kind = "one-peer-exponential"
	// OnePeerHypercube: in exchange s worker i meets i xor 2^(s mod τ), n a power of two (Shi et al. 2016).
	OnePeerHypercube Kind = "one-peer-hypercube"
	// Base2: pairs with weights by size. After a period all models equal the mean, for every n (after Takezawa et al.
	// 2023).
	Base2 Kind = "base2"
	// RandomShift: in exchange s worker i takes from i + u and sends to i − u, mod n, with a u drawn for s (Song et al.
	// 2022).
	RandomShift Kind = "random-shift"
	// RandomMatching: in exchange s the workers of a drawn permutation meet in pairs; of an odd number the last is idle
	// (de Vos et al. 2023).
	RandomMatching Kind = "random-matching"
	// StaticExponential: worker i takes from i + 2ᵐ mod n for all m < τ, with weights 1/(τ+1) (Ying et al. 2021).
	StaticExponential Kind = "static-exponential"
)

// Kinds returns all kinds in the order in which documents list them.
func Kinds() []Kind {
	return []Kind{Ring, Torus, Complete, Star, Path, Exponential, Hypercube, RandomRegular, SmallWorld, ErdosRenyi,
		EdgeList, OnePeerExponential, OnePeerHypercube, Base2, RandomShift, RandomMatching, StaticExponential}
}

// Static reports whether graphs of the kind are undirected and the same in every exchange. Some algorithms need that.
func (k Kind) Static() bool {
	switch k {
	case OnePeerExponential, OnePeerHypercube, Base2, RandomShift, RandomMatching, StaticExponential:
		return false
	}
	return true
}

// Endless reports whether the matrices of the kind never repeat: each exchange draws its own.
func (k Kind) Endless() bool { return k == RandomShift || k == RandomMatching }

// Seeded reports whether graphs of the kind are drawn from a seed.
func (k Kind) Seeded() bool {
	return k.Endless() || k == RandomRegular || k == SmallWorld || k == ErdosRenyi
}

// symmetric reports whether graphs of the kind look the same from every worker. Then the edges at worker 0 represent
// all others.
func (k Kind) symmetric() bool {
	switch k {
	case Ring, Torus, Complete, Exponential, Hypercube:
		return true
	case OnePeerExponential, OnePeerHypercube, RandomShift, StaticExponential:
		return true
	}
	return false
}

func kindList(fits func(Kind) bool) string {
	var names []string
	for _, k := range Kinds() {
		if fits == nil || fits(k) {
			names = append(names, string(k))
		}
	}
	return strings.Join(names, ", ")
}

func (k Kind) known() bool { return slices.Contains(Kinds(), k) }
