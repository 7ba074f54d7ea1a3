//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gossiptrainer/internal/record"
)

// perCut bounds the exchanges in which only one end of a lost edge mixes. The two ends are at most Lead = 1 round apart
// when they remove the edge.
const perCut = 2

// edges returns the edge events of all peers, each from the record of its own peer.
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

// misweighed lists the faults of the mixing matrices of a run that went on without some peers. Each matrix
// must be symmetric and doubly stochastic, except for perCut exchanges per lost edge, so that mixing preserves the
// mean. The last one must connect all peers that are left.
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

// unreached returns the surviving peers that have no path to the first survivor.
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
