package plan

import (
	"cmp"
	"math"
	"slices"
)

// A point is what a candidate costs until the target. Infinity stands for never.
type point struct{ seconds, bytes float64 }

// beats reports whether p is at least as good as q in both, and better in one.
func (p point) beats(q point) bool {
	return p.seconds <= q.seconds && p.bytes <= q.bytes && p != q
}

// fronts returns for each point how many layers of better points lie above it: 0 is the frontier. Points that never
// reach the target are in no layer: −1.
func fronts(points []point) []int {
	layer := make([]int, len(points))
	for i := range layer {
		layer[i] = -1
	}
	left := 0
	for _, p := range points {
		if !math.IsInf(p.seconds, 1) {
			left++
		}
	}
	for at := 0; left > 0; at++ {
		var here []int
		for i, p := range points {
			if layer[i] < 0 && !math.IsInf(p.seconds, 1) && !slices.ContainsFunc(indices(points), func(j int) bool {
				return layer[j] < 0 && points[j].beats(p)
			}) {
				here = append(here, i)
			}
		}
		for _, i := range here {
			layer[i] = at
		}
		left -= len(here)
	}
	return layer
}

func indices(points []point) []int {
	all := make([]int, len(points))
	for i := range all {
		all[i] = i
	}
	return all
}

// ranked returns the indices of points from the best to the worst: the frontier before the layers below it, and each
// layer by time. A candidate that costs few bytes is so kept beside quick ones.
func ranked(points []point) []int {
	layer, order := fronts(points), indices(points)
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := layer[i], layer[j]
		if a < 0 {
			a = len(points)
		}
		if b < 0 {
			b = len(points)
		}
		return cmp.Or(cmp.Compare(a, b), cmp.Compare(points[i].seconds, points[j].seconds),
			cmp.Compare(points[i].bytes, points[j].bytes))
	})
	return order
}
