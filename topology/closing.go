package topology

// A Closing is what worker i of a ring needs to close a gap next to it: whom to
// look for, and what W has for the edge. Ranks stay, so the edge joins the
// nearest survivors, and the ring of the survivors has the weights of the old.
type Closing struct {
	Up, Down []Rank  // all others, as they follow i upwards and downwards
	Weight   float64 // W_ij of the new edge
}

// Closing returns how worker i closes a gap, nil in graphs other than rings, which
// go on without the edges of those that are lost.
func (g *Graph) Closing(i Rank) *Closing {
	n := g.N()
	if g.spec.Kind != Ring || n < 3 {
		return nil
	}
	c := &Closing{Weight: g.spec.Slack / 3}
	for step := 1; step < n; step++ {
		c.Up = append(c.Up, Rank((int(i)+step)%n))
		c.Down = append(c.Down, Rank((int(i)+n-step)%n))
	}
	return c
}
