package configs

import (
	"strings"

	"github.com/knadh/koanf/v2"
)

// A Loaded is a checked configuration that knows where its values come from.
type Loaded struct {
	Config Config
	layers []*layer        // in rising order
	given  *koanf.Koanf    // the values of all layers above the defaults
	moved  map[string]bool // keys that are derived instead of read from their layer
	idle   []idle          // keys that were given without effect
	lost   map[string]int  // by key: the layer that took its effect
}

// An idle is a group of keys of one section and one layer that have no effect for the same reason.
type idle struct {
	keys      []string
	why, hint string
	level     int  // of the layer that gave them
	dropped   bool // an override took their effect
}

// level returns the number of the layer that gave key or the list in which key lies; 0 for the default.
func (l *Loaded) level(key string) int {
	asked := key
	for {
		for i := len(l.layers) - 1; i > 0; i-- {
			if l.layers[i].values.Exists(key) && !l.layers[i].repeats(asked) {
				return i
			}
		}
		outer := strings.LastIndexByte(key, '.')
		if outer < 0 || l.layers[0].values.Exists(key) {
			return 0
		}
		key = key[:outer]
	}
}

// latest returns key, or that of the other keys which a later layer gave.
func (l *Loaded) latest(key string, others []string) string {
	for _, k := range others {
		if !l.moved[k] && l.level(k) > l.level(key) {
			key = k
		}
	}
	return key
}

// Origin returns where the value of key comes from: default, derived, the file with its line, environment, --set or
// flag.
func (l *Loaded) Origin(key string) string {
	layer := l.layers[l.level(key)]
	switch {
	case l.moved[key]:
		return "derived"
	case layer.file != nil:
		return layer.at(Problem{Key: key}, true).Where()
	}
	return layer.name
}
