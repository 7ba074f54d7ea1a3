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
	switch period := g.Period(); {
	case g.links == nil:
		return g.Row(i, 0)
	case period == 0:
		return &drawn{graph: g, rank: i, ahead: g.Reach()}
	default:
		p := &periodic{met: g.Neighbors(i), ahead: g.Reach()}
		for s := range period {
			p.rows = append(p.rows, g.Row(i, s))
		}
		return p
	}
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
	if g.spec.Kind.Endless() {
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

// A periodic Sequence repeats its rows.
type periodic struct {
	rows  []Row
	met   []Rank
	ahead int
}

func (p *periodic) At(s int) Row       { return p.rows[s%len(p.rows)] }
func (p *periodic) Period() int        { return len(p.rows) }
func (p *periodic) Neighbours() []Rank { return slices.Clone(p.met) }
func (p *periodic) Ahead() int         { return p.ahead }

// A drawn Sequence is that of an Endless kind.
type drawn struct {
	graph *Graph
	rank  Rank
	row   Row
	ahead int
}

func (d *drawn) At(s int) Row {
	d.graph.fill(&d.row, d.rank, s)
	return d.row
}

func (d *drawn) Period() int        { return 0 }
func (d *drawn) Neighbours() []Rank { return d.graph.Neighbors(d.rank) }
func (d *drawn) Ahead() int         { return d.ahead }
