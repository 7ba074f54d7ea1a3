// Package explain says in sentences why a run is slow and how it learns. It computes them from the events of a record
// alone, and says no more than these show.
//
// It draws nothing and decides nothing in a run. docs/explain.md has the thresholds and their reasons.
package explain

import (
	"cmp"
	"slices"
)

// Sentences explains a run, the most important sentence first. It does not change the record.
func Sentences(r *Record) []Sentence {
	all := slices.Concat(r.times(), r.learning(), r.codecs(), r.faults(), r.paths())
	slices.SortStableFunc(all, func(a, b Sentence) int {
		return cmp.Or(slices.Index(severities(), a.Severity)-slices.Index(severities(), b.Severity),
			slices.Index(kinds(), a.Kind)-slices.Index(kinds(), b.Kind))
	})
	return all
}

// times explains where the time goes.
func (r *Record) times() []Sentence {
	ranks := r.present()
	if len(ranks) == 0 || r.round() < enough {
		return nil
	}
	splits := map[int]split{}
	for _, rank := range ranks {
		splits[rank] = r.workers[rank].split()
	}
	t := timing{r, ranks, splits}
	var said []Sentence
	said = append(said, t.straggler()...)
	said = append(said, t.slowLinks(said)...)
	said = append(said, t.limits()...)
	said = append(said, t.codec()...)
	said = append(said, t.processors()...)
	said = append(said, t.beside()...)
	return append(said, t.bound(len(said) > 0 && said[0].Severity == Problem)...)
}
