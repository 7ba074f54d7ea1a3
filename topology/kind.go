package topology

// A Kind names a family of graphs. Its row says all that is true of them.
type Kind string

// A family is the row of a kind. The zero value of a field forbids. Functions get a Spec whose N is filled in.
type family struct {
	kind  Kind
	takes []string // settings beside N: rows, cols, file, degree, chance
	most  int      // workers; 0: MaxWorkers
	// size returns the number of workers that the settings give, 0 if they give none; nil: N gives it.
	size func(s Spec) int
	// check returns an invalid setting and the reason, "" if all are valid; nil: all are.
	check func(s Spec) (setting, why string)

	// One of the following makes the graphs. All but links give simple undirected graphs with one symmetric matrix of
	// Metropolis weights.
	rule  func(s Spec, i int) []int             // the neighbours of worker i; it may name one twice, or i itself
	draw  func(s Spec, e edgeSet, d *dice) bool // draws the edges; false: draw again
	list  func(g *Graph) (*Graph, error)        // takes the edges of the Spec of g
	links func(s Spec) links                    // directed edges, or edges that change from exchange to exchange

	endless   bool // each exchange draws its own matrix
	symmetric bool // graphs look the same from every worker: the edges at worker 0 represent all others
	alike     bool // a renaming of the workers turns every edge into every other one
	closes    bool // a gap that a lost worker leaves is closed, see Graph.Closing

	sized string // why there is no graph for every number of workers; "": there is

	picture func(s Spec) string // "" if it would be too large; nil: a table of the edges
}

// A Spec says which graph to build.
type Spec struct {
	Kind       Kind
	N          int       // workers; 0: Rows and Cols, or Edges, set the number
	Rows, Cols int       // torus
	Edges      [][2]Rank // edges: each pair once, in either order
	Slack      float64   // γ of γW + (1−γ)I, in (0, 1]
	Seed       uint64    // of kinds that are Seeded
	Degree     int       // random-regular, small-world: neighbours of a worker; 0: 4, or less if there are few workers
	Chance     float64   // small-world, erdos-renyi: of an edge, in (0, 1]; 0: a usual value
	// Exchanges is the number of exchanges that path sums and reach of an Endless kind cover; 0: DefaultExchanges.
	Exchanges int
}

// The values that 0 stands for in a Spec.
const (
	DefaultDegree    = 4
	DefaultExchanges = 200
	rewired          = 0.1 // share of the edges of a small world that move (Watts and Strogatz 1998)
)
