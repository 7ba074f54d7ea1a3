package configs

import (
	"errors"
	"slices"

	"github.com/knadh/koanf/v2"
)

// An Origin is one line of "config show --origin".
type Origin struct{ Key, Value, Origin string }

// Origins lists all keys with an effect, in the order of the run file.
func (l *Loaded) Origins() []Origin {
	values := koanf.New(".")
	(&layer{values: values}).load(plainValue(l.Config.WithoutSecrets()).(map[string]any))
	var all []Origin
	for _, key := range Reference() {
		if !values.Exists(key.Name) {
			continue // inside a list or a link: shown with it
		}
		if row := rowOf(key.Name); row.failing(&l.Config, key.Name) != nil {
			continue
		}
		all = append(all, Origin{key.Name, written(values.Get(key.Name)), l.Origin(key.Name)})
	}
	return all
}

// Locate adds to the problems of an *Error made by Errorf where their keys were given. Any other error is returned as
// it is.
func (l *Loaded) Locate(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	located := &Error{Problems: slices.Clone(e.Problems)}
	for i, p := range located.Problems {
		if p.Source == "" && p.Key != "" {
			p.Key = l.latest(p.Key, p.related)
			located.Problems[i] = l.layers[l.level(p.Key)].at(p, false)
		}
	}
	return located
}
