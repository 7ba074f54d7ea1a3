package study

import (
	"fmt"
	"slices"
)

// A class is the groups of a network that have equally many workers. Only these are compared with each other.
type class struct {
	name   string // of the network, and the number of workers where there are several
	groups []*Group
}

// workers returns the number of workers of the finished cells, 0 if none has finished.
func (g *Group) workers() int {
	for _, cell := range g.Cells {
		if cell.Summary != nil {
			return cell.Peers
		}
	}
	return 0
}

// alike returns the groups that have as many workers as g. A group without finished cells is alike to all.
func alike(groups []*Group, g *Group) []*Group {
	n := g.workers()
	return slices.DeleteFunc(slices.Clone(groups), func(o *Group) bool {
		return n > 0 && o.workers() > 0 && o.workers() != n
	})
}

// referenceOf names the algorithm with which those of a network are compared.
func referenceOf(groups []*Group) string {
	if len(classes("", groups)) > 1 {
		return "the reference with as many workers"
	}
	return reference(groups).Label
}

// classes divides the groups of a network by the number of workers, in the order of the groups.
func classes(network string, groups []*Group) []class {
	var all []class
	var known []int
	for _, g := range groups {
		if n := g.workers(); n > 0 && !slices.Contains(known, n) {
			known = append(known, n)
			all = append(all, class{fmt.Sprintf("%s with %d workers", network, n), alike(groups, g)})
		}
	}
	if len(known) < 2 {
		return []class{{network, groups}}
	}
	return all
}
