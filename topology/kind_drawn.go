package topology

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gossiptrainer/internal/rng"
)

// Kinds that are drawn from a seed. A graph that is not connected, or whose rule fails, is drawn again.
const (
	RandomRegular Kind = "random-regular" // every worker has Degree neighbours
	SmallWorld    Kind = "small-world"    // a ring lattice of Degree neighbours, whose edges move with chance P
	ErdosRenyi    Kind = "erdos-renyi"    // each pair with chance P
)

// drawn returns the kinds that are drawn from a seed. By default a graph of Erdős and Rényi has 2·ln n neighbours per
// worker: it is connected almost always.
func drawn() []family {
	return []family{
		{kind: RandomRegular, takes: []string{"degree"}, check: checkDegree, draw: func(s Spec, e edgeSet, d *dice) bool {
			return e.regular(s.degree(), d)
		}},
		{kind: SmallWorld, takes: []string{"degree", "chance"}, check: checkDegree,
			draw: func(s Spec, e edgeSet, d *dice) bool {
				return e.smallWorld(s.degree(), cmp.Or(s.Chance, rewired), d)
			}},
		{kind: ErdosRenyi, takes: []string{"chance"}, most: maxComplete, draw: func(s Spec, e edgeSet, d *dice) bool {
			n := float64(s.N)
			return e.independent(cmp.Or(s.Chance, min(1, 2*math.Log(n)/n)), d)
		}},
	}
}

const (
	graphStream = 1<<31 - 6
	draws       = 200
)

// random returns the graph of a seed.
func (f *family) random(s Spec) (*Graph, error) {
	seed := rng.Stream(s.Seed, graphStream)
	for round := range draws {
		set := newEdgeSet(s.N)
		whole := f.draw(s, set, &dice{key: rng.At(seed, round)})
		if g := (&Graph{spec: s, family: f, neighbors: set.neighbors()}); whole && len(g.components()) == 1 {
			return g, nil
		}
	}
	return nil, fmt.Errorf("topology: %s: %d draws from seed %d give no connected graph of %d workers: "+
		"take more neighbours", s.Kind, draws, s.Seed, s.N)
}

// degree returns the number of neighbours of a worker in kinds that set it.
func (s Spec) degree() int { return cmp.Or(s.Degree, min(DefaultDegree, max(2, (s.N-1)/2*2))) }

func checkDegree(s Spec) (setting, why string) {
	switch degree := s.degree(); {
	case degree < 2 || degree >= max(s.N, 2) && s.N > 2:
		why = fmt.Sprintf("must be 2 to %d for %d workers", max(2, s.N-1), s.N)
	case s.Kind == SmallWorld && degree%2 != 0:
		why = "must be even"
	case degree*s.N%2 != 0:
		why = fmt.Sprintf("of %d workers: one of the two must be even", s.N)
	default:
		return "", ""
	}
	return "degree", fmt.Sprintf("%s: degree %d: %s", s.Kind, s.degree(), why)
}

// dice draws numbers one after the other.
type dice struct {
	key  rng.Key
	next uint32
}

func (d *dice) below(m int) int {
	d.next++
	return int(d.key.Below(d.next-1, uint64(m)))
}

func (d *dice) happens(chance float64) bool {
	d.next++
	return float64(d.key.Uniform(d.next-1)) < chance
}

// An edgeSet is a simple graph in the making.
type edgeSet []map[Rank]bool

func newEdgeSet(n int) edgeSet {
	set := make(edgeSet, n)
	for i := range set {
		set[i] = map[Rank]bool{}
	}
	return set
}

func (e edgeSet) add(i, j Rank)    { e[i][j], e[j][i] = true, true }
func (e edgeSet) remove(i, j Rank) { delete(e[i], j); delete(e[j], i) }

// may reports whether there may be a new edge between i and j.
func (e edgeSet) may(i, j Rank) bool { return i != j && !e[i][j] }

func (e edgeSet) neighbors() [][]Rank {
	lists := make([][]Rank, len(e))
	for i, set := range e {
		for j := range set {
			lists[i] = append(lists[i], j)
		}
		slices.Sort(lists[i])
	}
	return lists
}

// regular pairs the ends of edges, of which each worker has degree. It draws pairs again that make a loop or a double
// edge. It reports whether all ends found another (Steger and Wormald, "Generating random regular graphs quickly",
// 1999).
func (e edgeSet) regular(degree int, d *dice) bool {
	if degree >= len(e) {
		return e.complete()
	}
	var ends []Rank
	for i := range e {
		for range degree {
			ends = append(ends, Rank(i))
		}
	}
	for misses := 0; len(ends) > 0 && misses < 100*degree; {
		a, b := d.below(len(ends)), d.below(len(ends))
		if a == b || !e.may(ends[a], ends[b]) {
			misses++
			continue
		}
		e.add(ends[a], ends[b])
		for _, at := range []int{max(a, b), min(a, b)} {
			ends[at] = ends[len(ends)-1]
			ends = ends[:len(ends)-1]
		}
		misses = 0
	}
	return len(ends) == 0
}

func (e edgeSet) complete() bool {
	for i := range e {
		for j := range i {
			e.add(Rank(i), Rank(j))
		}
	}
	return true
}

// smallWorld begins with a ring on which each worker has the nearest degree/2 on either side. The far end of each edge
// then moves with a chance (Watts and Strogatz, "Collective dynamics of small-world networks", 1998).
func (e edgeSet) smallWorld(degree int, chance float64, d *dice) bool {
	n := len(e)
	if degree >= n {
		return e.complete()
	}
	for step := 1; step <= degree/2; step++ {
		for i := range n {
			e.add(Rank(i), Rank((i+step)%n))
		}
	}
	for step := 1; step <= degree/2; step++ {
		for i := range n {
			near, far := Rank((i+step)%n), Rank(d.below(n))
			if d.happens(chance) && e[i][near] && e.may(Rank(i), far) {
				e.remove(Rank(i), near)
				e.add(Rank(i), far)
			}
		}
	}
	return true
}

// independent draws each pair by itself (Gilbert 1959; after Erdős and Rényi).
func (e edgeSet) independent(chance float64, d *dice) bool {
	for i := range e {
		for j := range i {
			if d.happens(chance) {
				e.add(Rank(i), Rank(j))
			}
		}
	}
	return true
}
