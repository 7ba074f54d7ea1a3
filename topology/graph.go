package topology

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/mat"
)

// A Graph is a sequence of doubly stochastic mixing matrices W^(0), W^(1), … over n workers. A static graph is
// connected and undirected, and has one matrix: Metropolis weights with slack,
//
//	W_ij = γ/(1 + max(deg i, deg j)) for an edge,  W_ii = 1 − Σ_j W_ij,
//
// symmetric and doubly stochastic (Metropolis et al. 1953; Hastings 1970). A Graph is immutable and safe for concurrent
// use.
type Graph struct {
	spec      Spec
	family    *family
	neighbors [][]Rank // of each worker of a static graph, increasing
	links     links    // of the others
	reach     func() int
}

// New builds the graph that s describes, or returns the reason why there is none.
func New(s Spec) (*Graph, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	s.N = s.Size()
	s.Edges = slices.Clone(s.Edges)
	f := s.Kind.row()
	g := &Graph{spec: s, family: f}
	switch {
	case f.links != nil:
		g.links = f.links(s)
		g.reach = sync.OnceValue(g.findReach)
		return g, nil
	case f.draw != nil:
		return f.random(s)
	case f.list != nil:
		return f.list(g)
	}
	g.neighbors = make([][]Rank, s.N)
	for i := range g.neighbors {
		for _, j := range f.rule(s, i) {
			if j != i {
				g.neighbors[i] = append(g.neighbors[i], Rank(j))
			}
		}
		slices.Sort(g.neighbors[i])
		g.neighbors[i] = slices.Compact(g.neighbors[i])
	}
	return g, nil
}

// fromEdges gives g the edges of its Spec.
func fromEdges(g *Graph) (*Graph, error) {
	g.neighbors = make([][]Rank, g.N())
	for _, e := range g.spec.Edges {
		i, j := e[0], e[1]
		switch {
		case min(i, j) < 0 || int(max(i, j)) >= g.N():
			return nil, fmt.Errorf("topology: edge %d %d: workers are 0 to %d", i, j, g.N()-1)
		case i == j:
			return nil, fmt.Errorf("topology: edge %d %d: joins a worker to itself", i, j)
		}
		g.neighbors[i] = append(g.neighbors[i], j)
		g.neighbors[j] = append(g.neighbors[j], i)
	}
	for i, list := range g.neighbors {
		slices.Sort(list)
		for at := 1; at < len(list); at++ {
			if list[at] == list[at-1] {
				return nil, fmt.Errorf("topology: edge %d %d: given twice", i, list[at])
			}
		}
	}
	if parts := g.components(); len(parts) > 1 {
		return nil, fmt.Errorf("topology: edges: not connected: %d parts: %s", len(parts), describeParts(parts))
	}
	return g, nil
}

// Spec returns the description of g, with N filled in.
func (g *Graph) Spec() Spec {
	s := g.spec
	s.Edges = slices.Clone(s.Edges)
	return s
}

// N returns the number of workers.
func (g *Graph) N() int { return g.spec.N }

// Degree returns the largest number of workers that worker i receives from in one exchange.
func (g *Graph) Degree(i Rank) int {
	if g.links == nil {
		return len(g.neighbors[i])
	}
	return g.links.degree()
}

// Neighbors returns the workers that worker i ever receives from or sends to, in increasing rank.
func (g *Graph) Neighbors(i Rank) []Rank {
	if g.links == nil {
		return slices.Clone(g.neighbors[i])
	}
	return g.met(i)
}

// Edges returns every pair of workers that ever exchange once, as (i, j) with i < j, in increasing order.
func (g *Graph) Edges() [][2]Rank {
	var edges [][2]Rank
	for i := range g.N() {
		for _, j := range g.Neighbors(Rank(i)) {
			if int(j) > i {
				edges = append(edges, [2]Rank{Rank(i), j})
			}
		}
	}
	return edges
}

// A Closing holds the data with which worker i of a ring closes a gap next to it. It lists the candidates for an edge,
// and the weight of the edge in W. Ranks stay, so the edge joins the nearest survivors. The ring of the survivors has
// the weights of the old ring.
type Closing struct {
	Up, Down []Rank  // all others, in the order in which they follow i upwards and downwards
	Weight   float64 // W_ij of the new edge
}

// Nearest returns all other workers, nearest first.
func (c *Closing) Nearest() (all []Rank) {
	for i := range c.Up {
		for _, rank := range []Rank{c.Up[i], c.Down[i]} {
			if !slices.Contains(all, rank) {
				all = append(all, rank)
			}
		}
	}
	return all
}

// Closing returns the data with which worker i closes a gap. It is nil except in rings: other graphs lose the edges of
// lost workers.
func (g *Graph) Closing(i Rank) *Closing {
	n := g.N()
	if !g.family.closes || n < 3 {
		return nil
	}
	c := &Closing{Weight: g.spec.Slack / 3}
	for step := 1; step < n; step++ {
		c.Up = append(c.Up, Rank((int(i)+step)%n))
		c.Down = append(c.Down, Rank((int(i)+n-step)%n))
	}
	return c
}

// W returns the matrix of exchange s in full, n×n.
func (g *Graph) W(s int) *mat.Dense {
	w := mat.NewDense(g.N(), g.N(), nil)
	for i, row := range g.Rows(s) {
		w.Set(i, i, row.Self)
		for _, e := range row.In {
			w.Set(i, int(e.Peer), e.Weight)
		}
	}
	return w
}

// unreached returns a distance of −1 for every worker.
func (g *Graph) unreached() []int {
	distance := make([]int, g.N())
	for i := range distance {
		distance[i] = -1
	}
	return distance
}

// walk returns the workers that a path joins to start, nearest first. It sets their distance, which must be −1 before,
// to the number of hops.
func (g *Graph) walk(start Rank, distance []int) []Rank {
	distance[start] = 0
	reached := []Rank{start}
	for at := 0; at < len(reached); at++ {
		i := reached[at]
		for _, j := range g.neighbors[i] {
			if distance[j] < 0 {
				distance[j] = distance[i] + 1
				reached = append(reached, j)
			}
		}
	}
	return reached
}

// components returns the connected parts in order of their lowest worker, each
// in increasing rank.
func (g *Graph) components() [][]Rank {
	distance := g.unreached()
	var parts [][]Rank
	for i := range distance {
		if distance[i] < 0 {
			part := g.walk(Rank(i), distance)
			slices.Sort(part)
			parts = append(parts, part)
		}
	}
	return parts
}

// describeParts lists the workers of the first few parts.
func describeParts(parts [][]Rank) string {
	const most = 8
	var text strings.Builder
	for p, part := range parts[:min(len(parts), most)] {
		if p > 0 {
			text.WriteByte(' ')
		}
		list := strings.Trim(fmt.Sprint(part[:min(len(part), most)]), "[]")
		if len(part) > most {
			list += " …"
		}
		fmt.Fprintf(&text, "{%s}", list)
	}
	if len(parts) > most {
		text.WriteString(" …")
	}
	return text.String()
}
