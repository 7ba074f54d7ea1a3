package view

import (
	"fmt"

	"gossiptrainer/topology"
)

// Graph returns the graph of a view of n members. A torus takes the grid that is nearest to a square; if n is prime it
// is a ring. It fails for kinds that have no graph for every n.
func Graph(base topology.Spec, n int) (*topology.Graph, error) {
	if why := base.Kind.Sized(); why != "" {
		return nil, fmt.Errorf("topology %s: %s: a run with views needs a graph for every number of members, such as "+
			"ring or one-peer-exponential", base.Kind, why)
	}
	base.N, base.Rows, base.Cols, base.Edges = n, 0, 0, nil
	if base.Kind.Takes("rows") {
		base.Rows, base.Cols = topology.Sides(n)
	}
	return topology.New(base)
}

// ShapeOf describes a graph for people.
func ShapeOf(g *topology.Graph) Shape {
	s := g.Spec()
	shape := Shape{Name: s.Kind, Slack: s.Slack, Seed: s.Seed}
	if s.Kind.Takes("rows") {
		shape.Shape = fmt.Sprintf("%dx%d", s.Rows, s.Cols)
	}
	return shape
}

// Rows are the rows of one member in the exchanges of one view, as far as the log knows them: a later record may leave
// out messages. They stand for the place of a worker in a graph.
type Rows struct {
	Log  *Log
	View int
	ID   ID
}

var _ topology.Sequence = Rows{}

// At returns the row of exchange x.
func (r Rows) At(x int) topology.Row { return r.Log.Row(r.ID, x) }

// Period returns 0: a record may change the rows in any exchange.
func (r Rows) Period() int { return 0 }

// Neighbours returns all other members.
func (r Rows) Neighbours() []topology.Rank {
	var all []topology.Rank
	for _, m := range r.Log.At(r.View).Members {
		if m.ID != r.ID {
			all = append(all, m.ID)
		}
	}
	return all
}

// Ahead returns how many exchanges a member can be ahead of one that it sends to.
func (r Rows) Ahead() int {
	g := r.Log.Graph(r.View)
	if g.Spec().Kind.Static() {
		return 1
	}
	return max(1, g.Reach())
}

// Value returns what all members use alike in exchange x, if a later record says it.
func (r Rows) Value(x int) (Value, bool) { return r.Log.Value(r.View, x) }

// late bounds the exchanges that members may begin after they have heard of a change.
const late = 8

// Behind returns how many exchanges a receiver of messages can be behind, where members leave out others. On a static
// graph it is 1: two neighbours wait for each other in every exchange.
func (r Rows) Behind() int {
	g := r.Log.Graph(r.View)
	if g.Spec().Kind.Static() {
		return 1
	}
	return r.Ahead() + g.Reach() + 1 + late
}
