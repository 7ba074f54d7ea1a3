package topology

import (
	"math/big"
	"math/bits"
)

// maxReach is the largest base2 graph whose reach is found by bit sets of n² bits.
const maxReach = 1 << 12

// Reach returns the least number of exchanges after which all workers know all that any worker knew before, from every
// exchange on. On a static graph it is the diameter: the largest number of hops between two workers. For edges of more
// than 1024 workers and base2 of more than 4096 it may be an upper bound. For Endless kinds it covers the exchanges of
// the Spec.
func (g *Graph) Reach() int {
	if g.links == nil {
		return g.diameter()
	}
	return g.reach()
}

// findReach returns the reach of a graph that is not static.
func (g *Graph) findReach() int {
	starts := g.Period()
	if starts == 0 {
		starts = g.spec.exchanges()
	}
	after := g.pairsReach
	switch l := g.links.(type) {
	case *shifts:
		after = l.reach
	case *base2:
		if g.N() > maxReach {
			return 2*starts - 1 // contains a whole period, after which all models are equal
		}
	case hypercube:
		return int(l)
	}
	most := 0
	for s := range starts {
		most = max(most, after(s))
	}
	return most
}

// reach returns the number of exchanges, from s on, after which all know all. All workers know the news of workers at
// the same distances: bit d says whether worker i knows that of i + d.
func (l *shifts) reach(s int) int {
	all := new(big.Int).Lsh(big.NewInt(1), uint(l.n))
	all.Sub(all, big.NewInt(1))
	known, moved, over := big.NewInt(1), new(big.Int), new(big.Int)
	var row Row
	for t := 0; ; t++ {
		if known.Cmp(all) == 0 {
			return t
		}
		row.In, row.Out = row.In[:0], row.Out[:0]
		l.fill(&row, 0, s+t)
		before := new(big.Int).Set(known)
		for _, e := range row.In {
			moved.Lsh(before, uint(e.Peer))
			over.Rsh(moved, uint(l.n))
			moved.And(moved, all)
			known.Or(known, moved).Or(known, over)
		}
	}
}

// pairsReach returns the number of exchanges, from s on, after which all know all, where each worker meets at most one
// other. Workers that meet know the same afterwards.
func (g *Graph) pairsReach(s int) int {
	n := g.N()
	words := (n + 63) / 64
	known, ready := make([][]uint64, n), 0
	for i := range known {
		known[i] = make([]uint64, words)
		known[i][i/64] = 1 << (i % 64)
	}
	var row Row
	for t := 0; ; t++ {
		for ready < n && full(known[ready], n) {
			ready++
		}
		if ready == n {
			return t
		}
		for i := range n {
			g.fill(&row, Rank(i), s+t)
			if len(row.In) == 1 && int(row.In[0].Peer) > i {
				mine, theirs := known[i], known[row.In[0].Peer]
				for w := range mine {
					mine[w] |= theirs[w]
				}
				copy(theirs, mine)
			}
		}
	}
}

// full reports whether the first n bits are set, and no other.
func full(set []uint64, n int) bool {
	count := 0
	for _, word := range set {
		count += bits.OnesCount64(word)
	}
	return count == n
}
