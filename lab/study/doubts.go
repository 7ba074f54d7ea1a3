package study

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/stats"
)

// searches lists the limits of the searches for values.
func searches(s *Study) []string {
	var all []string
	on := map[string]bool{}
	for _, label := range s.Labels {
		trials := trials(s, label)
		if len(trials) == 0 {
			continue
		}
		on[trials[0].Network] = true
		if !slices.ContainsFunc(trials, func(t cells.Trial) bool { return t.InGrid && t.Loss != nil }) {
			all = append(all, fmt.Sprintf("%s: every setting of its grid diverged in the search; its cells run with the first",
				label))
		}
		if t := better(trials); t != nil {
			all = append(all, fmt.Sprintf("%s: the default %v has a lower loss in the search than every setting of the grid: "+
				"add it to the grid", label, t.Settings))
		} else {
			all = append(all, ends(label, trials)...)
		}
	}
	if keys := networkKeys(s); len(on) > 0 && len(keys) > 0 {
		all = append(all, fmt.Sprintf("values were searched on the first network alone, and networks differ in %s",
			someOf(keys)))
	}
	return all
}

// better returns a trial outside the grid that beats the chosen one, nil if there is none.
func better(trials []cells.Trial) *cells.Trial {
	won := slices.IndexFunc(trials, func(t cells.Trial) bool { return t.Chosen })
	if won < 0 || trials[won].Loss == nil {
		return nil
	}
	for i, t := range trials {
		if !t.InGrid && t.Loss != nil && *t.Loss < *trials[won].Loss {
			return &trials[i]
		}
	}
	return nil
}

// ends names the chosen values that are the least or the largest of three or more in the grid. There may be better ones
// beyond, unless the value is a bound of its key.
func ends(label string, trials []cells.Trial) []string {
	won := slices.IndexFunc(trials, func(t cells.Trial) bool { return t.Chosen && t.Loss != nil })
	if won < 0 {
		return nil
	}
	var all []string
	for i, chosen := range trials[won].Settings {
		var values []float64
		for _, t := range trials {
			if v, ok := numberOf(t.Settings, i); ok && t.InGrid {
				values = append(values, v)
			}
		}
		slices.Sort(values)
		values = slices.Compact(values)
		const few = 3 // of fewer each is an end
		v, ok := numberOf(trials[won].Settings, i)
		key, _, _ := strings.Cut(chosen, "=")
		if !ok || len(values) < few || slices.Contains(trials[won].Bounds, key) {
			continue
		}
		if v == values[0] || v == values[len(values)-1] {
			all = append(all, fmt.Sprintf("%s: the chosen %s is an end of its grid: a wider grid may have a better one", label,
				chosen))
		}
	}
	return all
}

// numberOf returns the number in the setting of an index, false if there is none.
func numberOf(settings []string, i int) (float64, bool) {
	if i >= len(settings) {
		return 0, false
	}
	_, value, _ := strings.Cut(settings[i], "=")
	v, err := strconv.ParseFloat(value, 64)
	return v, err == nil
}

// chance says how many claims may be wrong by chance: each has its own interval.
func chance(s *Study) []string {
	count := verdicts(s.Claims())
	decided := count[supported] + count[notSupported]
	const many = 20
	if decided < many {
		return nil
	}
	return []string{fmt.Sprintf("%s decided one by one at 95 %%: about %.0f of them may be wrong by chance",
		human.Count(decided, "claim")+" "+human.Verb(decided, "is", "are"), (1-stats.Confidence)*float64(decided))}
}
