package configs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// settle finds the keys without effect and gives them the value that they have without a layer. If a later layer has
// taken the effect, the key is dropped with a note: one --set turns a run file for Moniqua into one for all-reduce. A
// layer that contradicts itself or an earlier one is an error. It returns these errors, and bad with their keys.
func (l *Loaded) settle(bad []string) ([]Problem, []string) {
	for _, e := range effects {
		for _, key := range l.concrete(e.key) {
			n := e.failing(&l.Config, key)
			if n == nil {
				continue
			}
			if l.level(key) > 0 && !n.states(&l.Config, key) && !anyTouched(bad, append(n.on, key)) && !l.enter(key, n) {
				bad = append(bad, key)
			}
			l.lay(key, n)
		}
	}
	if !l.Config.Topology.takes("file") {
		l.Config.Topology.Edges = nil
	}
	if l.Config.Train.From == "" {
		l.Config.Train.FromHash = ""
	}
	var problems []Problem
	for _, i := range l.idle {
		if !i.dropped {
			problems = append(problems, l.layers[i.level].at(Problem{Key: i.keys[0], Message: i.message(), Hint: i.hint}, false))
		}
	}
	return problems, bad
}

// failing returns the first need of a key that does not hold, nil if all do.
func (e effect) failing(c *Config, key string) *need {
	for i := range e.needs {
		if !e.needs[i].holds(c, key) {
			return &e.needs[i]
		}
	}
	return nil
}

// states reports whether a key states the value that it has anyway.
func (n *need) states(c *Config, key string) bool {
	return n.stated && reflect.DeepEqual(valueOf(c, key).Interface(), n.value)
}

// enter notes a key that was given without effect. It reports whether the key is dropped, because a later layer took
// the effect.
func (l *Loaded) enter(key string, n *need) (dropped bool) {
	level, cause := l.level(key), 0
	for _, on := range n.on {
		cause = max(cause, l.level(on), l.lost[on])
	}
	i := idle{[]string{key}, n.why(&l.Config), n.hint(&l.Config), level, cause > level || l.layers[level].lenient}
	if i.dropped {
		l.lost[key] = max(cause, level)
	}
	same := slices.IndexFunc(l.idle, func(o idle) bool {
		return o.level == level && o.dropped == i.dropped && o.why == i.why && sectionOf(o.keys[0]) == sectionOf(key)
	})
	if same >= 0 {
		l.idle[same].keys = append(l.idle[same].keys, key)
	} else {
		l.idle = append(l.idle, i)
	}
	return i.dropped
}

// lay gives a key without effect its value.
func (l *Loaded) lay(key string, n *need) {
	path := strings.Split(key, ".")
	value := reflect.ValueOf(n.value)
	if n.value == nil {
		standard := Default()
		value = valueOf(&standard, key)
	}
	if !reflect.DeepEqual(valueOf(&l.Config, key).Interface(), value.Interface()) {
		assign(reflect.ValueOf(&l.Config).Elem(), path, value)
		l.moved[key] = true
	}
}

func (i idle) message() string {
	text := "has no effect"
	if len(i.keys) > 1 {
		var more []string
		for _, key := range i.keys[1:] {
			more = append(more, strings.TrimPrefix(key[len(sectionOf(key)):], "."))
		}
		text += ", nor has " + either(more)
	}
	return text + ": " + i.why
}

// Notes returns a line for each key that was dropped because an override has taken its effect.
func (l *Loaded) Notes() []string {
	var notes []string
	for _, i := range l.idle {
		if i.dropped {
			at := l.layers[i.level].at(Problem{Key: i.keys[0]}, true)
			notes = append(notes, fmt.Sprintf("%s of %s %s", i.keys[0], at.Where(), i.message()))
		}
	}
	return notes
}

// All returns the keys of Source.All that have an effect, as arguments of --set. The others are problems if they have
// no effect in any cell.
func (l *Loaded) All() (kept []string, idle []Problem) {
	last := len(l.layers) - 1
	without := map[string]bool{}
	for _, i := range l.idle {
		if i.level != last {
			continue
		}
		for _, key := range i.keys {
			without[key] = true
			p := Problem{Key: key, Message: "has no effect in any cell: " + i.why, Hint: i.hint}
			idle = append(idle, l.layers[last].at(p, false))
		}
	}
	for _, o := range overrides("", l.layers[last].values.Raw()) {
		if !without[o.Key] {
			kept = append(kept, o.Key+"="+o.Value)
		}
	}
	return kept, idle
}

// concrete returns the keys of a row: its own, or one for every entry of a section by name.
func (l *Loaded) concrete(row string) []string {
	table, setting, ok := strings.Cut(row, ".*.")
	if !ok {
		return []string{row}
	}
	entries := valueOf(&l.Config, table)
	if entries.Kind() != reflect.Map {
		return nil // lists hold entries that always have an effect
	}
	var keys []string
	for _, name := range entries.MapKeys() {
		keys = append(keys, table+"."+name.String()+"."+setting)
	}
	slices.Sort(keys)
	return keys
}

// rowOf returns the row of a key.
func rowOf(key string) effect {
	i := slices.IndexFunc(effects, func(e effect) bool { return e.key == key })
	if i < 0 {
		panic("internal error: configs: no row of effects for " + key)
	}
	return effects[i]
}
