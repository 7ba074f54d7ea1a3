package topology

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// A Kind names a family of graphs.
type Kind string

// The kinds of graphs. All are simple and undirected. A neighbour that a rule names twice counts once; the worker
// itself does not count.
const (
	Ring        Kind = "ring"        // i ~ i±1 mod n
	Torus       Kind = "torus"       // a grid of rows × cols whose sides wrap around
	Complete    Kind = "complete"    // all pairs
	Star        Kind = "star"        // 0 ~ i
	Path        Kind = "path"        // i ~ i+1
	Exponential Kind = "exponential" // i ~ i±2ᵐ mod n, 2ᵐ < n
	Hypercube   Kind = "hypercube"   // i ~ i xor 2ᵐ, n a power of two
	EdgeList    Kind = "edges"       // any connected simple graph
)

// Kinds returns all kinds in the order in which documents list them.
func Kinds() []Kind {
	return []Kind{Ring, Torus, Complete, Star, Path, Exponential, Hypercube, EdgeList}
}

// MaxWorkers is the largest graph that can be built. A complete graph has at most maxComplete workers, because it has
// about n²/2 edges.
const (
	MaxWorkers  = 1 << 17
	maxComplete = 1 << 12
)

// A Spec says which graph to build.
type Spec struct {
	Kind       Kind
	N          int       // workers; 0: Rows and Cols, or Edges, set the number
	Rows, Cols int       // torus
	Edges      [][2]Rank // edges: each pair once, in either order
	Slack      float64   // γ of γW + (1−γ)I, in (0, 1]
}

// ParseSpec reads the short form of a graph without slack: kind:size, as in
// ring:8, or torus:rowsxcols, as in torus:4x4.
func ParseSpec(text string) (Spec, error) {
	name, size, _ := strings.Cut(text, ":")
	s := Spec{Kind: Kind(name), Slack: 1}
	switch {
	case !slices.Contains(Kinds(), s.Kind):
		return Spec{}, fmt.Errorf("topology: %q: unknown kind %q, want one of %s", text, name, kindList())
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

func kindList() string {
	names := make([]string, 0, len(Kinds()))
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
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
	if !slices.Contains(Kinds(), s.Kind) {
		return fmt.Errorf("topology: unknown kind %q, want one of %s", s.Kind, kindList())
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
	case s.Kind == Complete && n > maxComplete:
		return fmt.Errorf("topology: complete: size %d: at most %d workers", n, maxComplete)
	case s.Kind == Hypercube && bits.OnesCount(uint(n)) != 1:
		return fmt.Errorf("topology: hypercube: size %d: not a power of two", n)
	}
	return nil
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

// symmetric reports whether the graph looks the same from every worker. Then its edges at worker 0 represent all
// others.
func (s Spec) symmetric() bool {
	switch s.Kind {
	case Ring, Torus, Complete, Exponential, Hypercube:
		return true
	}
	return false
}
