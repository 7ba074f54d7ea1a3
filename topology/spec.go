package topology

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// MaxWorkers is the largest graph that can be built. A graph of all pairs has at most maxComplete workers, because it
// has about n²/2 of them.
const (
	MaxWorkers  = 1 << 17
	maxComplete = 1 << 12
	maxMatching = 1 << 12 // its reach is found by bit sets of n² bits
)

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

// ParseSpec reads the short form of a graph without slack: kind:size, as in
// ring:8, or torus:rowsxcols, as in torus:4x4.
func ParseSpec(text string) (Spec, error) {
	name, size, _ := strings.Cut(text, ":")
	s := Spec{Kind: Kind(name), Slack: 1}
	switch {
	case !s.Kind.known():
		return Spec{}, fmt.Errorf("topology: %q: unknown kind %q, want one of %s", text, name, kindList(nil))
	case s.Kind == EdgeList:
		return Spec{}, fmt.Errorf("topology: %q: an edge list has no short form", text)
	case s.Kind == Torus:
		rows, cols, _ := strings.Cut(size, "x")
		var okRows, okCols bool
		s.Rows, okRows = parseSize(rows)
		s.Cols, okCols = parseSize(cols)
		if !okRows || !okCols {
			return Spec{}, fmt.Errorf("topology: %q: want its sides, as in torus:4x4", text)
		}
	default:
		var ok bool
		if s.N, ok = parseSize(size); !ok {
			return Spec{}, fmt.Errorf("topology: %q: want the number of workers, as in %s:8", text, name)
		}
	}
	s.N, _ = s.size()
	if err := s.check(); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// parseSize accepts digits only.
func parseSize(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err == nil
}

// String returns the short form, without slack.
func (s Spec) String() string {
	if s.Kind == Torus {
		return fmt.Sprintf("%s:%dx%d", s.Kind, s.Rows, s.Cols)
	}
	n, _ := s.size()
	return fmt.Sprintf("%s:%d", s.Kind, n)
}

// size returns the number of workers, and an error if N contradicts the rest.
func (s Spec) size() (int, error) {
	n := s.N
	switch s.Kind {
	case Torus:
		// The limit is large enough for sides that check refuses later.
		n = int(min(uint64(max(s.Rows, 0))*uint64(max(s.Cols, 0)), 1<<40))
		if s.N != 0 && s.N != n {
			return n, fmt.Errorf("topology: torus: %d × %d sides: %d workers, not %d", s.Rows, s.Cols, n, s.N)
		}
	case EdgeList:
		if n == 0 {
			for _, e := range s.Edges {
				n = max(n, int(e[0])+1, int(e[1])+1)
			}
		}
	}
	return n, nil
}

// check returns the first error in s that shows without building the graph.
func (s Spec) check() error {
	if !s.Kind.known() {
		return fmt.Errorf("topology: unknown kind %q, want one of %s", s.Kind, kindList(nil))
	}
	if !(s.Slack > 0 && s.Slack <= 1) {
		return fmt.Errorf("topology: slack %v: not in (0, 1]", s.Slack)
	}
	if s.Kind == Torus && (s.Rows < 1 || s.Cols < 1) {
		return fmt.Errorf("topology: torus: sides %d × %d: must be at least 1", s.Rows, s.Cols)
	}
	n, err := s.size()
	switch {
	case err != nil:
		return err
	case n < 1:
		return fmt.Errorf("topology: %s: size %d: must be at least 1", s.Kind, n)
	case n > MaxWorkers:
		return fmt.Errorf("topology: %s: size %d: at most %d workers", s.Kind, n, MaxWorkers)
	case (s.Kind == Complete || s.Kind == ErdosRenyi) && n > maxComplete:
		return fmt.Errorf("topology: %s: size %d: at most %d workers", s.Kind, n, maxComplete)
	case s.Kind == RandomMatching && n > maxMatching:
		return fmt.Errorf("topology: random-matching: size %d: at most %d workers: take random-shift", n, maxMatching)
	case (s.Kind == Hypercube || s.Kind == OnePeerHypercube) && bits.OnesCount(uint(n)) != 1:
		return fmt.Errorf("topology: %s: size %d: not a power of two", s.Kind, n)
	}
	return s.checkDrawn(n)
}

// checkDrawn returns the first error in the settings of kinds that are Seeded.
func (s Spec) checkDrawn(n int) error {
	degree := s.degree()
	switch {
	case s.Exchanges < 0:
		return fmt.Errorf("topology: %s: %d exchanges: must be at least 0", s.Kind, s.Exchanges)
	case !(s.Chance >= 0 && s.Chance <= 1):
		return fmt.Errorf("topology: %s: chance %v: not in [0, 1]", s.Kind, s.Chance)
	case s.Kind != RandomRegular && s.Kind != SmallWorld:
	case degree < 2 || degree >= max(n, 2) && n > 2:
		return fmt.Errorf("topology: %s: degree %d: must be 2 to %d for %d workers", s.Kind, degree, max(2, n-1), n)
	case s.Kind == RandomRegular && degree*n%2 != 0:
		return fmt.Errorf("topology: random-regular: degree %d of %d workers: one of the two must be even", degree, n)
	case s.Kind == SmallWorld && degree%2 != 0:
		return fmt.Errorf("topology: small-world: degree %d: must be even", degree)
	}
	return nil
}

// degree returns the number of neighbours of a worker in kinds that set it.
func (s Spec) degree() int {
	if n, _ := s.size(); s.Degree == 0 {
		return min(DefaultDegree, max(2, (n-1)/2*2))
	}
	return s.Degree
}

// exchanges returns the number of exchanges that sums of an Endless kind cover.
func (s Spec) exchanges() int {
	if s.Exchanges == 0 {
		return DefaultExchanges
	}
	return s.Exchanges
}

// rule returns the neighbours of i among n workers by the rule of s. It may name one twice, or i itself.
func (s Spec) rule(n, i int) []int {
	switch s.Kind {
	case Ring:
		return []int{(i + 1) % n, (i + n - 1) % n}
	case Torus:
		row, col := i/s.Cols, i%s.Cols
		up, down := (row+s.Rows-1)%s.Rows, (row+1)%s.Rows
		left, right := (col+s.Cols-1)%s.Cols, (col+1)%s.Cols
		return []int{up*s.Cols + col, row*s.Cols + left, row*s.Cols + right, down*s.Cols + col}
	case Complete:
		all := make([]int, n)
		for j := range all {
			all[j] = j
		}
		return all
	case Star:
		if i == 0 {
			return Spec{Kind: Complete}.rule(n, 0)
		}
		return []int{0}
	case Path:
		return []int{max(i-1, 0), min(i+1, n-1)}
	case Exponential:
		var named []int
		for step := 1; step < n; step *= 2 {
			named = append(named, (i+step)%n, (i+n-step)%n)
		}
		return named
	case Hypercube:
		var named []int
		for bit := 1; bit < n; bit *= 2 {
			named = append(named, i^bit)
		}
		return named
	}
	panic("internal error: topology: no rule for kind " + string(s.Kind))
}
