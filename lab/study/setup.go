package study

import (
	"gossiptrainer/internal/cells"
)

// setup returns how the cells of g are made, nil if an earlier program has made the comparison.
func setup(s *Study, g *Group) *cells.Setup {
	for i := range s.Setups {
		if one := &s.Setups[i]; one.Label == g.Label && one.Network == g.Network.Name {
			return one
		}
	}
	return nil
}

// trials returns the trials of an algorithm.
func trials(s *Study, label string) []cells.Trial {
	var all []cells.Trial
	for _, t := range s.Trials {
		if t.Label == label {
			all = append(all, t)
		}
	}
	return all
}

// candidates counts the trials of a search that it could choose.
func candidates(trials []cells.Trial) int {
	n := 0
	for _, t := range trials {
		if t.InGrid {
			n++
		}
	}
	return n
}
