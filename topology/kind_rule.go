package topology

import (
	"fmt"
	"math/bits"
)

// Kinds whose edges follow from a rule.
const (
	Ring        Kind = "ring"        // i ~ i±1 mod n
	Torus       Kind = "torus"       // a grid of rows × cols whose sides wrap around
	Complete    Kind = "complete"    // all pairs
	Star        Kind = "star"        // 0 ~ i
	Path        Kind = "path"        // i ~ i+1
	Exponential Kind = "exponential" // i ~ i±2ᵐ mod n, 2ᵐ < n
	Hypercube   Kind = "hypercube"   // i ~ i xor 2ᵐ, n a power of two
)

// byRule returns the kinds whose edges follow from a rule.
func byRule() []family {
	return []family{
		{kind: Ring, symmetric: true, alike: true, closes: true, picture: drawLoop, rule: func(s Spec, i int) []int {
			return []int{(i + 1) % s.N, (i + s.N - 1) % s.N}
		}},
		{kind: Torus, takes: []string{"rows", "cols"}, size: area, check: checkTorus, symmetric: true, picture: drawTorus,
			rule: onTorus},
		{kind: Complete, most: maxComplete, symmetric: true, alike: true, rule: everyone},
		{kind: Star, alike: true, rule: func(s Spec, i int) []int {
			if i == 0 {
				return everyone(s, i)
			}
			return []int{0}
		}},
		{kind: Path, picture: drawPath, rule: func(s Spec, i int) []int { return []int{max(i-1, 0), min(i+1, s.N-1)} }},
		{kind: Exponential, symmetric: true, rule: func(s Spec, i int) (named []int) {
			for step := 1; step < s.N; step *= 2 {
				named = append(named, (i+step)%s.N, (i+s.N-step)%s.N)
			}
			return named
		}},
		{kind: Hypercube, check: checkPower, sized: powers, symmetric: true, alike: true, rule: func(s Spec,
			i int) (named []int) {
			for bit := 1; bit < s.N; bit *= 2 {
				named = append(named, i^bit)
			}
			return named
		}},
	}
}

// area returns the workers of a torus. Its limit is above that of any graph.
func area(s Spec) int { return int(min(uint64(max(s.Rows, 0))*uint64(max(s.Cols, 0)), 1<<40)) }

func checkTorus(s Spec) (setting, why string) {
	if s.Rows < 1 || s.Cols < 1 {
		return "rows", fmt.Sprintf("a torus needs rows and cols, got %d x %d", s.Rows, s.Cols)
	}
	if n := area(s); n != s.N {
		return "size", fmt.Sprintf("a torus of %d x %d has %d workers, but the size is %d", s.Rows, s.Cols, n, s.N)
	}
	return "", ""
}

func onTorus(s Spec, i int) []int {
	row, col := i/s.Cols, i%s.Cols
	up, down := (row+s.Rows-1)%s.Rows, (row+1)%s.Rows
	left, right := (col+s.Cols-1)%s.Cols, (col+1)%s.Cols
	return []int{up*s.Cols + col, row*s.Cols + left, row*s.Cols + right, down*s.Cols + col}
}

// Sides returns those of the torus of n workers that is nearest to a square.
func Sides(n int) (rows, cols int) {
	rows = 1
	for r := 2; r*r <= n; r++ {
		if n%r == 0 {
			rows = r
		}
	}
	return rows, n / rows
}

func everyone(s Spec, _ int) []int {
	all := make([]int, s.N)
	for j := range all {
		all[j] = j
	}
	return all
}

// powers says why a hypercube has no graph for every number of workers.
const powers = "it exists for powers of two only"

// checkPower refuses sizes that are no power of two.
func checkPower(s Spec) (setting, why string) {
	if bits.OnesCount(uint(s.N)) != 1 {
		return "size", fmt.Sprintf("a %s has 1, 2, 4, 8, ... workers, but the size is %d", s.Kind, s.N)
	}
	return "", ""
}
