package configs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// An Override gives a key of the run file another value, in YAML.
type Override struct{ Key, Value string }

// AtBound reports whether the value of o is the least or the largest number that its key allows.
func AtBound(o Override) bool {
	s := find(o.Key)
	if s == nil {
		return false
	}
	value, err := strconv.ParseFloat(o.Value, 64)
	is := func(bound json.Number) bool {
		b, none := bound.Float64()
		return none == nil && b == value
	}
	return err == nil && (is(s.Minimum) || is(s.Maximum))
}

// A Choice is a key whose value is searched before the cells are run.
type Choice struct {
	Key    string
	Values []string // in YAML
}

// Arguments returns overrides as the arguments of --set.
func Arguments(set []Override) []string {
	args := make([]string, len(set))
	for i, o := range set {
		args[i] = o.Key + "=" + o.Value
	}
	return args
}

// Combinations lists all combinations of choices, with one override per choice. Without choices there is one empty
// combination.
func Combinations(choices []Choice) [][]Override {
	all := [][]Override{nil}
	for _, choice := range choices {
		var longer [][]Override
		for _, before := range all {
			for _, value := range choice.Values {
				longer = append(longer, append(slices.Clone(before), Override{choice.Key, value}))
			}
		}
		all = longer
	}
	return all
}

// overrides flattens values below a key to one override each, in order of the keys.
func overrides(prefix string, values map[string]any) []Override {
	var all []Override
	for _, key := range slices.Sorted(maps.Keys(values)) {
		at := join(prefix, key)
		if section, ok := values[key].(map[string]any); ok && !isTable(at) {
			all = append(all, overrides(at, section)...)
			continue
		}
		all = append(all, Override{at, inYAML(values[key])})
	}
	return all
}

// isTable reports whether the user invents the keys below path, as in limit.links.
func isTable(path string) bool {
	s := find(path)
	return s != nil && s.Properties == nil
}

// inYAML writes a plain value on one line; JSON is YAML.
func inYAML(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("internal error: configs: %v", err)) // a document holds plain values
	}
	return string(text)
}
