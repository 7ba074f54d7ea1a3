package configs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/knadh/koanf/v2"
)

// A Source says where a configuration comes from. Later fields win over
// earlier ones, and all win over the defaults.
type Source struct {
	File  string         // path of a run file or name of a preset; "" = defaults alone
	Env   []string       // like os.Environ; PEER_ALGORITHM__BITS=4 sets algorithm.bits
	Set   []string       // key=value, the value in YAML
	All   []string       // the same for all cells of a comparison: dropped where it has no effect
	Flags map[string]any // by dotted key, of flags that were given

	Faults []string // further entries of faults.script, see faultLayer
}

// A Loaded is a checked configuration that knows where its values come from.
type Loaded struct {
	Config Config
	layers []*layer // in rising order
	given  *koanf.Koanf
	moved  map[string]bool // keys that follow from others instead of their layer
	idle   []idle          // keys that were given without effect
	lost   map[string]int  // layers that took the effect of keys
}

// Load reads, merges and checks. Everything wrong is in the returned *Error.
func Load(src Source) (*Loaded, error) {
	l := &Loaded{layers: []*layer{defaultLayer()}, given: koanf.New("."), moved: map[string]bool{}, lost: map[string]int{}}
	if src.File != "" {
		l.layers = append(l.layers, fileLayer(src.File))
	}
	l.layers = append(l.layers, envLayer(src.Env), setLayer(src.Set), flagLayer(src.Flags))
	bad, err := l.merge(l.layers...)
	if err != nil {
		return nil, err
	}
	var last []*layer
	if len(src.Faults) > 0 {
		last = append(last, faultLayer(l.given.Get(scriptKey), src.Faults))
	}
	last = append(last, allLayer(src.All))
	worse, err := l.merge(last...)
	if err != nil {
		return nil, err
	}
	l.layers, bad = append(l.layers, last...), append(bad, worse...)
	text, err := json.Marshal(l.given.Raw())
	if err != nil {
		return nil, fmt.Errorf("configs: %w", err)
	}
	if err := json.Unmarshal(text, &l.Config); err != nil {
		return nil, fmt.Errorf("configs: %w", err)
	}
	edgeError := l.readEdges()
	problems := l.judge(bad, edgeError)
	for i := len(l.layers) - 1; i >= 0; i-- {
		problems = slices.Concat(l.layers[i].problems, problems)
	}
	if len(problems) > 0 {
		slices.SortStableFunc(problems, inOrderOfTheFile)
		return nil, &Error{problems}
	}
	return l, nil
}

// merge checks layers and lays them over those before. It returns the keys that were
// wrong.
func (l *Loaded) merge(layers ...*layer) (bad []string, err error) {
	for _, layer := range layers {
		bad = append(bad, layer.check()...)
		if err := l.given.Merge(layer.values); err != nil {
			return nil, fmt.Errorf("configs: %w", err)
		}
	}
	return bad, nil
}

// inOrderOfTheFile puts problems of overrides after those of the file.
func inOrderOfTheFile(a, b Problem) int {
	outside := func(p Problem) int {
		if p.Line == 0 {
			return 1
		}
		return 0
	}
	return cmp.Or(outside(a)-outside(b), a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Key, b.Key))
}

// level returns the number of the layer that gave key, or the list that key
// lies in; 0 for the default.
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

// Origin returns where the value of key comes from: default, derived, the file
// with its line, environment, --set or flag.
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

// Locate adds to the problems of an *Error made by Errorf where their keys
// were given. Any other error is returned as it is.
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
