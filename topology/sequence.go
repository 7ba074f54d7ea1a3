package topology

import "slices"

// Row returns worker i's row of exchange s.
func (g *Graph) Row(i Rank, s int) Row {
	if g.links != nil {
		var row Row
		g.fill(&row, i, s)
		return row
	}
	row := Row{Self: 1, Out: g.Neighbors(i)}
	for _, j := range row.Out {
		w := g.spec.Slack / float64(1+max(g.Degree(i), g.Degree(j)))
		row.In = append(row.In, Edge{Peer: j, Weight: w})
		row.Self -= w
	}
	return row
}

// fill makes row that of worker i in exchange s. It reuses the memory of row.
func (g *Graph) fill(row *Row, i Rank, s int) {
	row.Self, row.In, row.Out = 1, row.In[:0], row.Out[:0]
	g.links.fill(row, i, s)
	for at := range row.In {
		row.In[at].Weight *= g.spec.Slack
		row.Self -= row.In[at].Weight
	}
}

// Rows returns all n rows of exchange s.
func (g *Graph) Rows(s int) []Row {
	rows := make([]Row, g.N())
	for i := range rows {
		rows[i] = g.Row(Rank(i), s)
	}
	return rows
}

// Period returns after how many exchanges the matrices repeat: 1 if they do not change; 0 if they never repeat.
func (g *Graph) Period() int {
	if g.links == nil {
		return 1
	}
	return g.links.period()
}

// Symmetric reports whether all matrices are symmetric: then neighbours always send to each other.
func (g *Graph) Symmetric() bool {
	_, directed := g.links.(*shifts)
	return !directed || g.N() <= 2
}

// Sequence returns worker i's rows.
func (g *Graph) Sequence(i Rank) Sequence {
	if g.links == nil {
		return g.Row(i, 0)
	}
	return &sequence{graph: g, rank: i}
}

// Sequences returns the rows of all n workers.
func (g *Graph) Sequences() []Sequence {
	all := make([]Sequence, g.N())
	for i := range all {
		all[i] = g.Sequence(Rank(i))
	}
	return all
}

// met returns the workers that worker i of a graph with links ever meets, in increasing rank.
func (g *Graph) met(i Rank) []Rank {
	var all []Rank
	if g.family.endless {
		for j := range g.N() {
			if Rank(j) != i {
				all = append(all, Rank(j))
			}
		}
		return all
	}
	for s := range g.Period() {
		all = append(all, g.Row(i, s).Neighbours()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// A sequence is that of a worker of a graph that is not static. It keeps the memory of one row.
type sequence struct {
	graph *Graph
	rank  Rank
	row   Row
}

func (q *sequence) At(s int) Row {
	q.graph.fill(&q.row, q.rank, s)
	return q.row
}

func (q *sequence) Period() int        { return q.graph.Period() }
func (q *sequence) Neighbours() []Rank { return q.graph.Neighbors(q.rank) }
func (q *sequence) Ahead() int         { return max(1, q.graph.reach()) }
func (q *sequence) Behind() int        { return q.Ahead() }
