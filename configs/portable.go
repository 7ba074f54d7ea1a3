package configs

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/knadh/koanf/v2"
)

// private are the keys of a run file that belong to one machine or one user: folders, addresses, keys and secrets. They
// change no result of a simulation.
func private() []string {
	return []string{
		"data.dir", "data.path", "data.test", "output.dir", "checkpoint.dir", "peers",
		"node.listen", "node.key", "node.join_secret", "node.join_secret_file", "node.metrics",
	}
}

// Private reports whether the value of a key belongs to one machine, or is a secret.
func Private(key string) bool {
	return key == "node" || slices.ContainsFunc(private(), func(p string) bool { return within(key, p) })
}

// Portable returns the configuration as a run file with every key, but for those that belong to one machine, which have
// their defaults.
func (c Config) Portable() []byte {
	standard := Default()
	c.Data.Dir, c.Output.Dir, c.Checkpoint.Dir = standard.Data.Dir, standard.Output.Dir, standard.Checkpoint.Dir
	c.Data.Path, c.Data.Test = standard.Data.Path, standard.Data.Test
	c.Peers = standard.Peers
	n := &c.Node
	n.Listen, n.Metrics = standard.Node.Listen, standard.Node.Metrics
	n.Key, n.JoinSecret, n.JoinSecretFile = standard.Node.Key, standard.Node.JoinSecret, standard.Node.JoinSecretFile
	if c.Topology.File != "" {
		c.Topology.File = EdgesFile
	}
	if c.Train.From != "" {
		c.Train.From = StartFile
	}
	return c.YAML()
}

// EdgesFile is the name of the file of edges beside a portable run file that needs one.
const EdgesFile = "edges.txt"

// StartFile is the name of the model to start from beside a portable run file that needs one, and in a run folder.
const StartFile = "start.safetensors"

// Given returns the keys of all layers above the defaults as a run file, without those that belong to one machine.
func (l *Loaded) Given() ([]byte, error) {
	given, err := l.portable()
	if err != nil {
		return nil, err
	}
	return marshal(given)
}

// Shared returns Given with the names of the user's data, without their folders: other machines have them elsewhere.
func (l *Loaded) Shared() ([]byte, error) {
	given, err := l.portable()
	if err != nil {
		return nil, err
	}
	for key, path := range l.Config.Data.Files() {
		if err := given.Set(key, filepath.Base(path)); err != nil {
			return nil, fmt.Errorf("configs: %w", err)
		}
	}
	return marshal(given)
}

// Handed returns Given with the comments of the run file, and with these values by dotted key: a run file for another
// machine.
func (l *Loaded) Handed(values map[string]any) ([]byte, error) {
	given, err := l.portable()
	if err != nil {
		return nil, err
	}
	return l.written(given, values)
}

// Kept returns the keys of all layers above the defaults with the comments of the run file, and with these values by
// dotted key: a run file for this machine. It shows secrets.
func (l *Loaded) Kept(values map[string]any) ([]byte, error) {
	return l.written(l.given.Copy(), values)
}

func (l *Loaded) written(given *koanf.Koanf, values map[string]any) ([]byte, error) {
	for key, value := range values {
		if err := given.Set(key, value); err != nil {
			return nil, fmt.Errorf("configs: %w", err)
		}
	}
	places := map[string]int{}
	for i, k := range Reference() {
		for key := k.Name; key != ""; key = key[:max(0, strings.LastIndexByte(key, '.'))] {
			if _, there := places[key]; !there {
				places[key] = i
			}
		}
	}
	text, err := yaml.Marshal(inOrder(given.Raw(), "", places))
	if err != nil {
		return nil, fmt.Errorf("configs: %w", err)
	}
	return l.annotate(text), nil
}

// inOrder returns the keys of a section in the order of the reference.
func inOrder(section map[string]any, path string, places map[string]int) yaml.MapSlice {
	var out yaml.MapSlice
	for _, key := range slices.Sorted(maps.Keys(section)) {
		at := join(path, key)
		value := section[key]
		switch inner := value.(type) {
		case map[string]any:
			value = inOrder(inner, at, places)
		case []any:
			list := slices.Clone(inner)
			for i, entry := range list {
				if entry, ok := entry.(map[string]any); ok {
					list[i] = inOrder(entry, join(at, "*"), places)
				}
			}
			value = list
		}
		out = append(out, yaml.MapItem{Key: key, Value: value})
	}
	slices.SortStableFunc(out, func(a, b yaml.MapItem) int {
		return places[join(path, a.Key.(string))] - places[join(path, b.Key.(string))]
	})
	return out
}

func marshal(given *koanf.Koanf) ([]byte, error) {
	text, err := yaml.Marshal(given.Raw())
	if err != nil {
		return nil, fmt.Errorf("configs: %w", err)
	}
	return text, nil
}

// portable returns what the layers gave, without the keys that belong to one machine or have no effect.
func (l *Loaded) portable() (*koanf.Koanf, error) {
	given := l.given.Copy()
	for _, i := range l.idle { // one file must not contradict itself
		for _, key := range i.keys {
			given.Delete(key)
		}
	}
	return given, strip(given)
}

// strip removes the keys that belong to one machine, and names the files beside a portable run file.
func strip(given *koanf.Koanf) error {
	for _, key := range private() {
		given.Delete(key)
	}
	for key, name := range map[string]string{"topology.file": EdgesFile, "train.from": StartFile} {
		if !given.Exists(key) {
			continue
		}
		if err := given.Set(key, name); err != nil {
			return fmt.Errorf("configs: %w", err)
		}
	}
	return nil
}

// A comparisonForm is a comparison as its file has it.
type comparisonForm struct {
	Name       string          `yaml:"name"`
	Base       string          `yaml:"base"`
	Mode       string          `yaml:"mode"`
	Compute    string          `yaml:"compute,omitempty"`
	Cores      int             `yaml:"cores,omitempty"`
	Networks   []yaml.MapSlice `yaml:"networks"`
	Algorithms []variantForm   `yaml:"algorithms"`
	Seeds      []uint64        `yaml:"seeds"`
	Budget     yaml.MapSlice   `yaml:"budget,omitempty"`
	Report     yaml.MapSlice   `yaml:"report,omitempty"`
}

type variantForm struct {
	Label string        `yaml:"label"`
	Seeds int           `yaml:"seeds,omitempty"`
	Set   yaml.MapSlice `yaml:"set,omitempty"`
	Costs string        `yaml:"compute,omitempty"`
}

// YAML returns the comparison as a comparison file without choices. It leaves out keys that belong to one machine.
func (c *Comparison) YAML() ([]byte, error) {
	form := comparisonForm{Name: c.Name, Base: c.Base, Mode: c.Mode, Seeds: c.Seeds, Compute: c.Compute, Cores: c.Cores}
	for _, n := range c.Networks {
		form.Networks = append(form.Networks, n.form())
	}
	for _, a := range c.Algorithms {
		form.Algorithms = append(form.Algorithms, variantForm{a.Label, a.Seeds, settings(a.Set), a.Compute})
	}
	add := func(to *yaml.MapSlice, key string, value any, there bool) {
		if there {
			*to = append(*to, yaml.MapItem{Key: key, Value: value})
		}
	}
	add(&form.Budget, "rounds", c.Budget.Rounds, c.Budget.Rounds > 0)
	add(&form.Budget, "time", c.Budget.Time.String(), c.Budget.Time > 0)
	add(&form.Budget, "target", true, c.Budget.Target)
	var targets yaml.MapSlice
	add(&targets, "loss", append(slices.Clone(c.Levels.Loss), c.Targets.Loss), c.Targets.Loss > 0)
	add(&targets, "accuracy", append(slices.Clone(c.Levels.Accuracy), c.Targets.Accuracy), c.Targets.Accuracy > 0)
	add(&form.Report, "targets", targets, len(targets) > 0)
	text, err := yaml.Marshal(form)
	if err != nil {
		return nil, fmt.Errorf("configs: %w", err)
	}
	return text, nil
}

// form returns a network as an entry of a comparison file.
func (n NetworkCase) form() yaml.MapSlice {
	entry := yaml.MapSlice{{Key: "name", Value: n.Name}}
	var others []Override
	for _, o := range n.Set {
		name, limit := strings.CutPrefix(o.Key, "limit.")
		switch {
		case limit && slices.Contains(networkKeys, name):
			entry = append(entry, yaml.MapItem{Key: name, Value: o.Value})
		case o.Key == "train.rounds":
			entry = append(entry, yaml.MapItem{Key: "rounds", Value: o.Value})
		default:
			others = append(others, o)
		}
	}
	if len(others) > 0 {
		entry = append(entry, yaml.MapItem{Key: "set", Value: settings(others)})
	}
	return entry
}

// settings returns overrides as keys with their values, the last of each key, in the order in which a comparison file
// is read.
func settings(set []Override) yaml.MapSlice {
	var all yaml.MapSlice
	for i, o := range set {
		later := slices.ContainsFunc(set[i+1:], func(other Override) bool { return other.Key == o.Key })
		switch {
		case later:
		case o.Key == "data.path" || o.Key == "data.test": // the name helps, the folder belongs to this machine
			all = append(all, yaml.MapItem{Key: o.Key, Value: filepath.Base(o.Value)})
		case !Private(o.Key):
			all = append(all, yaml.MapItem{Key: o.Key, Value: o.Value})
		}
	}
	slices.SortFunc(all, func(a, b yaml.MapItem) int { return strings.Compare(a.Key.(string), b.Key.(string)) })
	return all
}

// Untested returns the settings, as in --set, under which the run of c tests its models as little as possible.
func (c *Config) Untested() []string {
	set := []string{"output.evaluate=0"}
	if c.LearnsFromData() {
		set = append(set, "output.evaluate_samples=32")
	}
	return set
}

// Shortened returns the settings, as in --set, that make the run of c one of fewer rounds. If
// faults of the script begin after these, the settings have the script without them.
func (c *Config) Shortened(rounds int) []string {
	set := []string{fmt.Sprintf("train.rounds=%d", rounds)}
	if c.Train.Epochs > 0 {
		set = append([]string{"train.epochs=0"}, set...)
	}
	late := func(f Fault) bool { return !f.At.Timed && f.At.Round >= rounds }
	if !slices.ContainsFunc(c.Faults.Script, late) {
		return set
	}
	script, err := json.Marshal(slices.DeleteFunc(slices.Clone(c.Faults.Script), late))
	if err != nil {
		panic("internal error: " + err.Error()) // every field is a number, a text or a list of them
	}
	return append(set, scriptKey+"="+string(script))
}
