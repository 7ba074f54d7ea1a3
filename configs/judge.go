package configs

import (
	"fmt"
	"maps"
	"slices"
)

// judge checks all rules and returns the problems. There are none to find if a run file could not be read. failed has
// the errors of other files by the keys that name them.
func (l *Loaded) judge(bad []string, failed map[string]error) []Problem {
	for _, layer := range l.layers {
		if slices.ContainsFunc(layer.problems, func(p Problem) bool { return p.Key == "" }) {
			return nil
		}
	}
	var problems []Problem
	for _, key := range slices.Sorted(maps.Keys(failed)) {
		bad = append(bad, key)
		p := Problem{Key: key, Message: failed[key].Error()}
		problems = append(problems, l.layers[l.level(p.Key)].at(p, false))
	}
	for _, layer := range l.layers {
		for _, p := range layer.problems {
			bad = append(bad, p.Key)
		}
	}
	l.deriveSize()
	idle, bad := l.settle(bad)
	problems = append(problems, idle...)
	l.derive()
	for _, r := range rules() {
		if anyTouched(bad, r.keys) {
			continue
		}
		r.check(&l.Config, func(key, format string, args ...any) {
			if slices.Contains(r.keys, key) {
				key = l.latest(key, r.keys)
			}
			p := Problem{Key: key, Message: fmt.Sprintf(format, args...)}
			problems = append(problems, l.layers[l.level(key)].at(p, false))
		})
	}
	return problems
}

func rules() []rule {
	return slices.Concat(topologyRules, membershipRules, algorithmRules, compressorRules, controllerRules,
		optimizerRules, faultRules, scriptRules,
		dataRules, unevenRules, otherRules)
}
