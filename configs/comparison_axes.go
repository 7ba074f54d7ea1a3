package configs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// networks reads the networks of a comparison.
func (r *comparisonReader) networks(root map[string]any) []NetworkCase {
	entries := r.list(root, "networks")
	if entries == nil {
		return []NetworkCase{{Name: "base"}}
	}
	var all []NetworkCase
	for i, entry := range entries {
		at := fmt.Sprintf("networks.%d", i)
		r.known(at, entry, networkKeys)
		n := NetworkCase{Name: r.text(entry, "name", ""), Set: r.limits(entry)}
		if n.Name == "" {
			r.wrong(at, "a network needs a name")
		}
		if rate, given := entry["rate"]; given {
			if _, err := ParseRate(fmt.Sprint(rate)); err != nil {
				r.wrong(at+".rate", "must be a rate of at least 1kbit like 100mbit, 1gbit or 500kbit, got %s", show(rate))
			}
		}
		more, ok := entry["set"].(map[string]any)
		if !ok && entry["set"] != nil {
			r.wrong(at+".set", "must be a section of keys of the run file")
		}
		for _, o := range overrides("", more) {
			if _, tuned := tuned(o); tuned {
				r.wrong(at+".set", "%s: tune(...) belongs to an algorithm, whose value all networks share", o.Key)
			}
			n.Set = append(n.Set, o)
		}
		if slices.ContainsFunc(all, func(o NetworkCase) bool { return o.Name == n.Name }) {
			r.wrong(at+".name", "two networks are named %s", show(n.Name))
		}
		all = append(all, n)
	}
	return all
}

// limits returns the keys of a network that have a name of their own in a comparison file.
func (r *comparisonReader) limits(entry map[string]any) []Override {
	var set []Override
	for _, key := range networkKeys {
		value, given := entry[key]
		switch {
		case !given || key == "name" || key == "set":
		case key == "rounds":
			set = append(set, Override{"train.rounds", inYAML(value)})
		default:
			set = append(set, Override{"limit." + key, inYAML(value)})
		}
	}
	return set
}

// targets reads the hardest target of each metric, and the easier ones.
func (r *comparisonReader) targets(root map[string]any) (Targets, Levels) {
	const at = "report.targets"
	section := r.section(root, "report")
	values, ok := section["targets"].(map[string]any)
	if !ok && section["targets"] != nil {
		r.wrong(at, "must be a section with loss and accuracy")
	}
	r.known(at, values, comparisonKeysOf(at))
	losses := r.levels(at+".loss", values["loss"])
	accuracies := r.levels(at+".accuracy", values["accuracy"])
	slices.SortFunc(losses, func(a, b float64) int { return cmp.Compare(b, a) })
	slices.Sort(accuracies)
	if n := len(accuracies); n > 0 && accuracies[n-1] > 1 {
		r.wrong(at+".accuracy", "is a share from 0 to 1, got %v", accuracies[n-1])
	}
	var hardest Targets
	var easier Levels
	hardest.Loss, easier.Loss = split(losses)
	hardest.Accuracy, easier.Accuracy = split(accuracies)
	return hardest, easier
}

// split returns the last of some values, 0 if there is none, and the others.
func split(values []float64) (last float64, others []float64) {
	n := len(values)
	if n == 0 {
		return 0, nil
	}
	if n == 1 {
		return values[0], nil
	}
	return values[n-1], values[: n-1 : n-1]
}

// levels reads one number above 0 or a list of them; nil if the key is not there.
func (r *comparisonReader) levels(at string, value any) []float64 {
	list, several := value.([]any)
	switch {
	case value == nil:
		return nil
	case !several:
		list = []any{value}
	case len(list) == 0 || len(list) > mostEntries:
		r.wrong(at, "must be a number above 0, or a list of 1 to %d of them", mostEntries)
	}
	var all []float64
	for i, entry := range list {
		place := at
		if several {
			place = fmt.Sprintf("%s.%d", at, i)
		}
		var x float64
		if !r.decode(entry, &x) || !(x > 0) || math.IsInf(x, 0) {
			r.wrong(place, "must be a number above 0, got %s", show(entry))
			continue
		}
		if slices.Contains(all, x) {
			r.wrong(place, "%v is given twice", x)
		}
		all = append(all, x)
	}
	return all
}
