package study

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
)

// methodTable has a row for each algorithm: its paper, its messages, and whether they travel during the gradient.
func methodTable(s *Study) table {
	t := table{Name: "methods", Caption: "Algorithms, as they run on the first network", Texts: 5,
		Head: []string{"Algorithm", "method", "paper", "messages", "messages and gradient", "workers", "tuned"}}
	for _, g := range s.on(s.Groups[0].Network.Name) {
		setup := setup(s, g)
		if setup == nil {
			continue
		}
		t.Rows = append(t.Rows, []string{g.Label, setup.Algorithm + ", " + setup.Graph, setup.Paper, setup.Messages,
			overlapWords[setup.Overlap], fmt.Sprint(setup.Workers), cmp.Or(strings.Join(g.Cells[0].Tuned, " "), "-")})
	}
	return t
}

// overlapWords explain the overlap of an algorithm.
var overlapWords = map[string]string{
	cells.Overlaps:     "overlap: messages depend on the model before the gradient",
	cells.Waits:        "follow each other: messages depend on the gradient",
	cells.Asynchronous: "overlap: workers share no rounds",
}

// networkTable has a row for each network, with the settings in which networks differ.
func networkTable(s *Study) table {
	keys := networkKeys(s)
	t := table{Name: "networks", Caption: "Networks, whose limits hold for each peer", Texts: 1,
		Head: append([]string{"Network", "rate in Mbit/s", "one-way latency in ms"}, keys...)}
	for _, n := range s.Networks {
		rate := "unlimited"
		if n.Rate > 0 {
			rate = fmt.Sprintf("%.4g", n.Rate/1e6)
		}
		row := []string{n.Name, rate, fmt.Sprintf("%.4g", 1e3*n.Latency)}
		for _, key := range keys {
			row = append(row, cmp.Or(settingOn(s, n.Name, key), "-"))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// networkKeys returns the keys that have one value for all algorithms of a network, but not for all networks.
func networkKeys(s *Study) []string {
	var keys []string
	for key := range differing(s) {
		values := map[string]bool{}
		uniform := true
		for _, n := range s.Networks {
			value := settingOn(s, n.Name, key)
			values[value] = true
			uniform = uniform && value != ""
		}
		if uniform && len(values) > 1 {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// differing returns the keys in which cells differ.
func differing(s *Study) map[string]bool {
	keys := map[string]bool{}
	for _, setup := range s.Setups {
		for key := range setup.Settings {
			keys[key] = true
		}
	}
	return keys
}

// settingOn returns the value of a key that all algorithms on a network share, "" if they share none.
func settingOn(s *Study, network, key string) string {
	shared, first := "", true
	for _, setup := range s.Setups {
		if setup.Network != network {
			continue
		}
		value := setup.Settings[key]
		if first {
			shared, first = value, false
		}
		if value != shared {
			return ""
		}
	}
	return shared
}

// tuningTable has a row for each short run of the searches.
func tuningTable(s *Study) table {
	t := table{Name: "tuning", Texts: 3, Head: []string{"Algorithm", "values", "role", "training loss"},
		Caption: "Searches before the cells: short runs with a seed that no cell has"}
	for _, trial := range s.Trials {
		loss := cmp.Or(trial.Why, "-")
		if trial.Loss != nil {
			loss = human.Digits(*trial.Loss, 4)
		}
		t.Rows = append(t.Rows, []string{trial.Label, cmp.Or(strings.Join(trial.Settings, " "), "-"), roleOf(trial), loss})
	}
	return t
}

// roleOf says why a trial ran and whether it won.
func roleOf(t cells.Trial) string {
	var roles []string
	if t.Chosen {
		roles = append(roles, "chosen")
	}
	if t.Default {
		roles = append(roles, "default")
	}
	if t.InGrid && !t.Chosen {
		roles = append(roles, "in the grid")
	}
	return strings.Join(roles, ", ")
}

// settingsTable has every setting that is not a default, or in which cells differ.
func settingsTable(s *Study) table {
	t := table{Name: "settings", Caption: "Settings that are not the defaults, or in which cells differ", Texts: 3,
		Head: []string{"Key", "cells", "value"}}
	for _, key := range slices.Sorted(maps.Keys(s.Settings)) {
		t.Rows = append(t.Rows, []string{key, "all", s.Settings[key]})
	}
	for _, key := range slices.Sorted(maps.Keys(differing(s))) {
		for _, value := range valuesOf(s, key) {
			t.Rows = append(t.Rows, []string{key, strings.Join(cellsWith(s, key, value), "; "), value})
		}
	}
	return t
}

// valuesOf returns the values of a key in which cells differ, in the order of the cells.
func valuesOf(s *Study, key string) []string {
	var values []string
	for _, setup := range s.Setups {
		if value, there := setup.Settings[key]; there && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}

// cellsWith names the cells with a value: by algorithm, and by network where that decides.
func cellsWith(s *Study, key, value string) []string {
	if slices.Contains(networkKeys(s), key) {
		var networks []string
		for _, n := range s.Networks {
			if settingOn(s, n.Name, key) == value {
				networks = append(networks, n.Name)
			}
		}
		return networks
	}
	var names []string
	for _, setup := range s.Setups {
		if got, there := setup.Settings[key]; there && got == value && !slices.Contains(names, setup.Label) {
			names = append(names, setup.Label)
		}
	}
	return names
}
