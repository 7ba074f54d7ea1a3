package runfolder

import (
	"fmt"
	"strconv"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
)

// A filter lets runs pass whose run file has a value.
type filter struct{ key, value string }

// parseFilters reads texts like algorithm.bits=8.
func parseFilters(texts []string) ([]filter, error) {
	var names []string
	for _, k := range configs.Reference() {
		if !configs.Private(k.Name) {
			names = append(names, k.Name)
		}
	}
	var all []filter
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, advice.Usage(fmt.Errorf("runs: --filter %s: want key=value", text), "as in --filter algorithm.bits=8")
		}
		known := false
		for _, name := range names {
			known = known || name == key
		}
		if !known {
			hint := "peer config reference lists the keys; those of one machine do not count"
			if near := advice.Nearest(key, names); near != "" {
				hint = "did you mean " + near + "?"
			}
			return nil, advice.Usage(fmt.Errorf("runs: --filter %s: there is no key %s of runs", text, key), hint)
		}
		all = append(all, filter{key, value})
	}
	return all, nil
}

// fits reports whether settings have the value: as the same text or the same number.
func (f filter) fits(settings map[string]string) bool {
	have, there := settings[f.key]
	if !there {
		return false
	}
	if have = strings.Trim(have, `"'`); have == f.value {
		return true
	}
	a, errA := strconv.ParseFloat(have, 64)
	b, errB := strconv.ParseFloat(f.value, 64)
	return errA == nil && errB == nil && a == b
}
