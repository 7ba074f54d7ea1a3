package topology

// Sums are path sums of a sequence: what the certified theta grows with. For exchange s and workers i, j, with
// v_0 = e_i − e_j and v_{t+1} = (W^(s−1−t))ᵀ·v_t,
//
//	S  = max Σ_{t≥0} |v_t|₁,  S1 = max Σ_{t≥0} |v_{t+1} − v_t|₁
//
// over all exchanges s. Kinds with a period go on before exchange 0; Endless kinds begin there, and have the exchanges
// of their Spec.
type Sums struct{ S, S1 float64 }

// join returns the larger of both sums.
func (a Sums) join(b Sums) Sums { return Sums{max(a.S, b.S), max(a.S1, b.S1)} }

// PathSums returns the sums over the pairs that exchange in s: those that decode a message.
func (g *Graph) PathSums() (Sums, error) { return g.sums(false) }

// AllPathSums returns the sums over all pairs.
func (g *Graph) AllPathSums() (Sums, error) { return g.sums(true) }

func (g *Graph) sums(all bool) (Sums, error) {
	if g.N() > maxSpectrum {
		return Sums{}, errTooLarge("path sums", g.N())
	}
	if g.links == nil {
		m, err := g.modes()
		if err != nil {
			return Sums{}, err
		}
		pairs := g.typicalEdges()
		if all {
			pairs = g.pairs()
		}
		s, s1 := g.pathSums(m, pairs)
		return Sums{s, s1}, nil
	}
	w := newWindow(g)
	most := Sums{}
	for s := range w.starts {
		pairs := g.exchanging(s)
		if all {
			pairs = g.pairs()
		}
		for _, pair := range pairs {
			most = most.join(w.sums(s, pair))
		}
		w.forget(s)
	}
	return most, nil
}

// pairs returns pairs of workers that represent all others.
func (g *Graph) pairs() [][2]Rank {
	var all [][2]Rank
	first := g.N()
	if g.family.symmetric {
		first = min(first, 1)
	}
	for i := range first {
		for j := i + 1; j < g.N(); j++ {
			all = append(all, [2]Rank{Rank(i), Rank(j)})
		}
	}
	return all
}

// exchanging returns pairs that represent those that exchange in s.
func (g *Graph) exchanging(s int) [][2]Rank {
	var all [][2]Rank
	for i := range g.N() {
		for _, e := range g.Row(Rank(i), s).In {
			all = append(all, [2]Rank{Rank(i), e.Peer})
		}
		if g.family.symmetric {
			break
		}
	}
	return all
}

// A window computes the sums of a graph with links. It holds the rows of some exchanges only: a sum goes back as far as
// differences are large enough to count.
type window struct {
	graph   *Graph
	starts  int
	endless bool
	rows    [][]Row // by exchange; nil: they are not there
	first   int     // no exchange before it is there
	deepest int     // exchanges of the longest sum
	v, next []float64
}

func newWindow(g *Graph) *window {
	w := &window{graph: g, starts: g.Period(), v: make([]float64, g.N()), next: make([]float64, g.N())}
	if w.endless = w.starts == 0; w.endless {
		w.starts = g.spec.exchanges()
	}
	w.rows = make([][]Row, w.starts)
	return w
}

// at returns the rows of an exchange.
func (w *window) at(s int) []Row {
	s = (s%w.starts + w.starts) % w.starts
	if w.rows[s] == nil {
		w.rows[s] = w.graph.Rows(s)
		w.first = min(w.first, s)
	}
	return w.rows[s]
}

// forget drops the rows of an Endless kind that sums from exchange s on hardly need.
func (w *window) forget(s int) {
	for ; w.endless && w.first < s-2*w.deepest; w.first++ {
		w.rows[w.first] = nil
	}
}

// sums returns the sums of a pair at exchange s.
func (w *window) sums(s int, pair [2]Rank) Sums {
	clear(w.v)
	w.v[pair[0]], w.v[pair[1]] = 1, -1
	var sum Sums
	for at := s - 1; ; at-- {
		w.deepest = max(w.deepest, s-at)
		term := norm1(w.v)
		if term < settled {
			return sum
		}
		sum.S += term
		if at < 0 && w.endless {
			return sum
		}
		w.back(w.at(at))
		sum.S1 += distance1(w.next, w.v)
		w.v, w.next = w.next, w.v
	}
}

// back computes next ← Wᵀ·v.
func (w *window) back(rows []Row) {
	clear(w.next)
	for i, row := range rows {
		v := w.v[i]
		if v == 0 {
			continue
		}
		w.next[i] += row.Self * v
		for _, e := range row.In {
			w.next[e.Peer] += e.Weight * v
		}
	}
}
