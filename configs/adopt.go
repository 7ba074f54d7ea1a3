package configs

import (
	"fmt"

	"github.com/knadh/koanf/v2"
)

// Adopt returns the run file of another machine as one for this machine, with its comments. It drops the keys that
// belong to one machine, except for the roster. Then it sets values by dotted key and the overrides in set, each
// key=value.
//
// It reads no file that the run file names, because another machine has written it. The returned *Error lists
// problems of form; Load judges the result.
func Adopt(file string, set []string, values map[string]any) ([]byte, error) {
	theirs, mine := fileLayer(file), setLayer(set)
	for _, layer := range []*layer{theirs, mine} {
		if layer.check(); len(layer.problems) > 0 {
			return nil, &Error{layer.problems}
		}
	}
	const roster = "peers"
	given := theirs.values.Copy()
	members := given.Get(roster)
	if err := strip(given); err != nil {
		return nil, err
	}
	if members != nil {
		if err := given.Set(roster, members); err != nil {
			return nil, fmt.Errorf("configs: %w", err)
		}
	}
	own := koanf.New(".")
	for key, value := range values {
		if err := own.Set(key, value); err != nil {
			return nil, fmt.Errorf("configs: %w", err)
		}
	}
	for _, more := range []*koanf.Koanf{own, mine.values} {
		if err := given.Merge(more); err != nil {
			return nil, fmt.Errorf("configs: %w", err)
		}
	}
	l := &Loaded{layers: []*layer{defaultLayer(), theirs}}
	return l.written(given, nil)
}
