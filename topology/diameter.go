package topology

// searches bounds the walks through a graph that diameter makes, so that it takes no time of order n².
const searches = 1 << 10

// diameter returns the largest number of hops between two workers of a static graph. For edges and drawn graphs of more
// than 1024 workers it is an upper bound, at most twice that number, where 1024 walks do not tell it.
//
// Every walk bounds the eccentricities of all workers. Those of workers at distance d from v lie between
// max(ε(v) − d, d) and ε(v) + d (Takes and Kosters, "Determining the diameter of small world networks", CIKM 2011).
func (g *Graph) diameter() int {
	if g.family.symmetric {
		e, _ := g.eccentricity(0, g.unreached())
		return e
	}
	s := newSurvey(g)
	for walks := 0; len(s.open) > 0; walks++ {
		if walks == searches {
			return s.atMost()
		}
		s.walk(s.next(walks%2 == 0))
	}
	return s.found
}

// eccentricity returns the number of hops from a worker to the one farthest away. It sets the distances, which must be
// −1 before, and returns them.
func (g *Graph) eccentricity(i Rank, distance []int) (int, []int) {
	reached := g.walk(i, distance)
	return distance[reached[len(reached)-1]], distance
}

// A survey holds bounds of the eccentricities while the diameter is sought.
type survey struct {
	graph       *Graph
	open        []Rank // workers whose eccentricity may be the diameter
	least, most []int  // bounds, by worker
	found       int    // the largest eccentricity known
	distance    []int
}

func newSurvey(g *Graph) *survey {
	s := &survey{graph: g, least: make([]int, g.N()), most: make([]int, g.N()), distance: g.unreached()}
	for i := range s.most {
		s.open, s.most[i] = append(s.open, Rank(i)), g.N()
	}
	return s
}

// next returns an open worker: one that may be the most central, or one that may be the most remote.
func (s *survey) next(central bool) Rank {
	best := s.open[0]
	for _, i := range s.open {
		if central && s.least[i] < s.least[best] || !central && s.most[i] > s.most[best] {
			best = i
		}
	}
	return best
}

// walk enters the distances from a worker, and closes all workers that cannot have a larger eccentricity than the
// largest one known.
func (s *survey) walk(from Rank) {
	for i := range s.distance {
		s.distance[i] = -1
	}
	e, distance := s.graph.eccentricity(from, s.distance)
	s.found = max(s.found, e)
	kept := s.open[:0]
	for _, i := range s.open {
		s.least[i] = max(s.least[i], e-distance[i], distance[i])
		s.most[i] = min(s.most[i], e+distance[i])
		s.found = max(s.found, s.least[i])
		if i != from {
			kept = append(kept, i)
		}
	}
	s.open = kept
	kept = s.open[:0]
	for _, i := range s.open {
		if s.most[i] > s.found {
			kept = append(kept, i)
		}
	}
	s.open = kept
}

// atMost returns the largest eccentricity that is still possible.
func (s *survey) atMost() int {
	most := s.found
	for _, i := range s.open {
		most = max(most, s.most[i])
	}
	return most
}
