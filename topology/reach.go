package topology

import "math/big"

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
	switch l := g.links.(type) {
	case *shifts:
		return longest(starts, l.reach)
	case *parts:
		if g.N() > maxReach {
			return 2*starts - 1 // contains a whole period, after which all models are equal
		}
	case dimensions:
		return int(l)
	}
	return longest(starts, newNews(g).spread)
}

// longest returns the largest number of exchanges after which all know all, over all starts. News from before exchange
// s is also news from before s + 1, so s takes at most one exchange more than s + 1. Starts that therefore cannot take
// longer than the longest one so far are left out.
func longest(starts int, after func(s int) int) int {
	most := 0
	for s := starts - 1; s >= 0; {
		took := after(s)
		most = max(most, took)
		s -= 1 + most - took
	}
	return most
}

// reach returns the number of exchanges, from s on, after which all know all. All workers know the news of workers at
// the same distances: bit d says whether worker i knows that of i + d.
func (l *shifts) reach(s int) int {
	all := new(big.Int).Lsh(big.NewInt(1), uint(l.n))
	all.Sub(all, big.NewInt(1))
	known, before, moved, over := big.NewInt(1), new(big.Int), new(big.Int), new(big.Int)
	var row Row
	for t := 0; ; t++ {
		if known.Cmp(all) == 0 {
			return t
		}
		row.In, row.Out = row.In[:0], row.Out[:0]
		l.fill(&row, 0, s+t)
		before.Set(known)
		for _, e := range row.In {
			moved.Lsh(before, uint(e.Peer))
			over.Rsh(moved, uint(l.n))
			moved.And(moved, all)
			known.Or(known, moved).Or(known, over)
		}
	}
}

// block is the number of workers whose news spread at a time: all that is known of them stays in the cache.
const block = 64 * blockWords
const blockWords = 8

// A set says of which workers of a block the news are known.
type set [blockWords]uint64

// news spread on a graph where each worker meets at most one other in an exchange. The two know the same afterwards.
type news struct {
	graph   *Graph
	known   []set
	met     [keptMatchings][]Rank // the pairs that meet in exchange s, in met[s mod keptMatchings]
	through [keptMatchings]int    // that exchange, and one
}

func newNews(g *Graph) *news { return &news{graph: g, known: make([]set, g.N())} }

// spread returns the number of exchanges, from s on, after which all know all.
func (w *news) spread(s int) int {
	most := 0
	for first := 0; first < len(w.known); first += block {
		most = max(most, w.spreadOf(first, s))
	}
	return most
}

// spreadOf is spread for the news of the block that begins with a worker.
func (w *news) spreadOf(first, s int) int {
	n := min(block, len(w.known)-first)
	clear(w.known)
	var all set
	for i := range n {
		all[i/64] |= 1 << (i % 64)
		w.known[first+i][i/64] |= 1 << (i % 64)
	}
	for t := 0; ; t++ {
		if 1<<min(t, 62) >= len(w.known) && w.knows(all) {
			return t
		}
		for met := w.meet(s + t); len(met) > 1; met = met[2:] {
			mine, theirs := &w.known[met[0]], &w.known[met[1]]
			for at := range mine {
				both := mine[at] | theirs[at]
				mine[at], theirs[at] = both, both
			}
		}
	}
}

// knows reports whether all workers know all.
func (w *news) knows(all set) bool {
	for i := range w.known {
		if w.known[i] != all {
			return false
		}
	}
	return true
}

// meet returns the workers that meet in exchange s, pair by pair.
func (w *news) meet(s int) []Rank {
	at := s % keptMatchings
	if w.through[at] != s+1 {
		w.through[at] = s + 1
		w.met[at] = w.graph.meetings(w.met[at][:0], s)
	}
	return w.met[at]
}

// meetings appends the workers that meet in exchange s to dst, pair by pair.
func (g *Graph) meetings(dst []Rank, s int) []Rank {
	if l, ok := g.links.(*matchings); ok {
		return l.meetings(dst, s)
	}
	var row Row
	for i := range g.N() {
		if g.fill(&row, Rank(i), s); len(row.In) == 1 && int(row.In[0].Peer) > i {
			dst = append(dst, Rank(i), row.In[0].Peer)
		}
	}
	return dst
}
