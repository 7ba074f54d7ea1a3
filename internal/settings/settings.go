// Package settings compares two sets of settings and names the keys whose values differ.
package settings

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// A Difference is a key whose values differ.
type Difference struct {
	Key       string // dotted, as in a run file
	Then, Now string // as JSON; "" where the key is not set
}

// Differences compares sections, which are JSON texts by name, and returns the keys that differ in order.
func Differences(then, now map[string]json.RawMessage) []Difference {
	was, is := flat(then), flat(now)
	all := maps.Clone(was)
	maps.Copy(all, is)
	var differ []Difference
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if was[key] != is[key] {
			differ = append(differ, Difference{key, was[key], is[key]})
		}
	}
	return differ
}

func flat(sections map[string]json.RawMessage) map[string]string {
	values := make(map[string]string)
	for name, text := range sections {
		flatten(values, name, text, deepest)
	}
	return values
}

// deepest bounds the objects within objects, since the text may come from another machine.
const deepest = 8

// flatten enters the values below key, down to a depth. Everything but an object is one value.
func flatten(into map[string]string, key string, value json.RawMessage, depth int) {
	var object map[string]json.RawMessage
	if depth == 0 || json.Unmarshal(value, &object) != nil || len(object) == 0 {
		var text bytes.Buffer
		if json.Compact(&text, value) != nil {
			text.Reset()
			text.Write(value)
		}
		into[key] = text.String()
		return
	}
	for name, child := range object {
		flatten(into, key+"."+name, child, depth-1)
	}
}
