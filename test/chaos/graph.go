//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gossiptrainer/internal/record"
)

// perCut is in how many exchanges only one end of an edge that is lost may mix: the
// two ends are at most Lead = 1 apart when each takes it off.
const perCut = 2

// edges returns what each peer has put on record of its own edges.
func (t *trial) edges() ([]record.Event, error) {
	var all []record.Event
	for rank := range t.peers {
		found, _ := filepath.Glob(t.site.record(rank))
		for _, path := range found {
			file, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			events, err := record.Read(file)
			file.Close()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			for _, e := range events {
				if e.Edge != nil && e.Edge.Rank == rank {
					all = append(all, e)
				}
			}
		}
	}
	return all, nil
}

// misweighed says what is wrong with the mixing matrices of a run that has gone on
// without some: each must be symmetric and doubly stochastic but for what is counted,
// so that mixing leaves the mean where it is, and the last must connect who is left.
func misweighed(edges []record.Event, peers int, gone map[int]bool) []string {
	lost := func(rank int) bool { return gone[rank] }
	views, err := record.Views(edges, peers, lost)
	if err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	for _, v := range views {
		if err := v.Check(); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	cuts := 0
	for _, e := range edges {
		if e.Edge.Weight == 0 && e.Edge.Rank != e.Edge.Peer {
			cuts++
		}
	}
	if n := record.Lopsided(edges, views, lost); n > perCut*cuts {
		wrong = append(wrong,
			fmt.Sprintf("only one end mixed in %d exchanges: %d ends took an edge off, which may each cost %d", n, cuts, perCut))
	}
	if len(views) < 2 {
		wrong = append(wrong, "no edge is on record as gone")
	}
	if apart := unreached(views[len(views)-1].W, gone); len(apart) > 0 {
		wrong = append(wrong, fmt.Sprintf("at the end nothing connects peers %v to the others", apart))
	}
	return wrong
}

// unreached returns the peers that are left and have no way to the first of them.
func unreached(w [][]float64, gone map[int]bool) []int {
	var reached, left []int
	for rank := range w {
		if !gone[rank] {
			left = append(left, rank)
		}
	}
	if len(left) == 0 {
		return nil
	}
	reached = append(reached, left[0])
	for i := 0; i < len(reached); i++ {
		for j, weight := range w[reached[i]] {
			if weight > 0 && !slices.Contains(reached, j) {
				reached = append(reached, j)
			}
		}
	}
	return slices.DeleteFunc(left, func(rank int) bool { return slices.Contains(reached, rank) })
}
