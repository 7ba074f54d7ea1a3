package sim

import (
	"slices"

	"gossiptrainer/topology"
)

// A link connects two neighbours under a script. Its number changes whenever it is made or lost, so that no frame of a
// lost link arrives on the next one.
type link struct {
	ends     [2]topology.Rank // the lower rank first
	up       bool
	number   int
	unseen   int    // ends that have not noticed the loss yet
	retrying bool   // an attempt to make it again is scheduled
	met      [2]met // by end
	wanted   [2]int // number of the process that wants it, by end; 0: none
	refused  [2]int // number of the other end's process that an end refuses; 0: none
}

// A met holds the numbers of the two processes that had the last link, as one end knows them.
type met struct{ own, other int }

// end returns which end a worker is.
func (l *link) end(rank topology.Rank) int {
	if l.ends[0] == rank {
		return 0
	}
	return 1
}

// A linkTable holds all links of a run.
type linkTable struct {
	byEnds  map[[2]topology.Rank]*link // by the ranks of the ends, the lower one first
	ordered []*link                    // by ends
}

// between returns the link of two workers, which need not be neighbours.
func (t *linkTable) between(i, j topology.Rank) *link {
	key := [2]topology.Rank{min(i, j), max(i, j)}
	if t.byEnds[key] == nil {
		l := &link{ends: key}
		t.byEnds[key] = l
		at, _ := slices.BinarySearchFunc(t.ordered, l, func(a, b *link) int {
			return slices.Compare(a.ends[:], b.ends[:])
		})
		t.ordered = slices.Insert(t.ordered, at, l)
	}
	return t.byEnds[key]
}

// of returns the links of a worker.
func (t *linkTable) of(rank topology.Rank) []*link {
	var all []*link
	for _, l := range t.ordered {
		if l.ends[0] == rank || l.ends[1] == rank {
			all = append(all, l)
		}
	}
	return all
}
