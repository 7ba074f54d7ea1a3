package configs

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/knadh/koanf/v2"
)

// A Source says where a configuration comes from. Later fields win over earlier ones, and all win over the defaults.
type Source struct {
	File  string         // path of a run file or name of a preset; "" = only defaults
	Env   []string       // like os.Environ; PEER_ALGORITHM__BITS=4 sets algorithm.bits
	Set   []string       // key=value, the value in YAML
	All   []string       // the same for all cells of a comparison; dropped in cells where it has no effect
	Flags map[string]any // by dotted key, of flags that were given

	Faults []string // further entries of faults.script, see faultLayer
}

// Load reads, merges and checks the layers of a source. The returned *Error lists all problems.
func Load(src Source) (*Loaded, error) {
	l := &Loaded{Config: Default(), layers: []*layer{defaultLayer()}, given: koanf.New("."), moved: map[string]bool{},
		lost: map[string]int{}}
	if src.File != "" {
		l.layers = append(l.layers, fileLayer(src.File))
	}
	l.layers = append(l.layers, envLayer(src.Env), setLayer(src.Set), flagLayer(src.Flags))
	bad, err := l.merge(l.layers[1:]...)
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
	l.placeData()
	problems := l.judge(bad, l.readFiles())
	for i := len(l.layers) - 1; i >= 0; i-- {
		problems = slices.Concat(l.layers[i].problems, problems)
	}
	if len(problems) > 0 {
		slices.SortStableFunc(problems, inOrderOfTheFile)
		return nil, &Error{problems}
	}
	return l, nil
}

// merge checks layers and merges them into the earlier ones. It returns the wrong keys.
func (l *Loaded) merge(layers ...*layer) (bad []string, err error) {
	for _, layer := range layers {
		if layer.empty() {
			continue
		}
		bad = append(bad, layer.check()...)
		if err := l.given.Merge(layer.values); err != nil {
			return nil, fmt.Errorf("configs: %w", err)
		}
	}
	return bad, nil
}
