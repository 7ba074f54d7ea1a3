package configs

import (
	"fmt"
	"slices"
)

// judge checks all rules and returns the problems. There are none to find if a file could not be read.
func (l *Loaded) judge(bad []string, edgeError error) []Problem {
	for _, layer := range l.layers {
		if slices.ContainsFunc(layer.problems, func(p Problem) bool { return p.Key == "" }) {
			return nil
		}
	}
	var problems []Problem
	if edgeError != nil {
		bad = append(bad, "topology.file")
		p := Problem{Key: "topology.file", Message: edgeError.Error()}
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
	return slices.Concat(topologyRules, algorithmRules, compressorRules, controllerRules, faultRules, scriptRules,
		dataRules, otherRules)
}
