package configs

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"gossiptrainer/model"
)

// DataSet returns the keys of the section data that name the set and are not their defaults. Keys of one machine are
// not among them, nor are those that cut the set into shards.
func (c Config) DataSet() map[string]any {
	standard, _ := plainValue(Default().Data).(map[string]any)
	given, _ := plainValue(c.Data).(map[string]any)
	maps.DeleteFunc(given, func(key string, value any) bool {
		if Private("data." + key) {
			return true
		}
		cut := slices.Contains([]string{"partition", "per_worker", "alpha", "sizes", "weights", "label_noise"}, key)
		return cut || key != "name" && reflect.DeepEqual(value, standard[key])
	})
	return given
}

// Effective returns the keys that have an effect with their values in YAML, without those of one machine.
func (c Config) Effective() map[string]string {
	all := c.Settings()
	for _, e := range effects {
		if !strings.Contains(e.key, "*") && e.failing(&c, e.key) != nil {
			maps.DeleteFunc(all, func(key, _ string) bool { return within(key, e.key) })
		}
	}
	return all
}

// Settings returns all keys with their values in YAML, without those of one machine.
func (c Config) Settings() map[string]string {
	values, _ := plainValue(c).(map[string]any)
	all := map[string]string{}
	for _, o := range overrides("", values) {
		if !Private(o.Key) {
			all[o.Key] = o.Value
		}
	}
	return all
}

// ModelSettings returns the keys of the section model that have an effect.
func (c Config) ModelSettings() map[string]any {
	given, _ := plainValue(c.Model).(map[string]any)
	kind, _ := model.Find(c.Model.Name)
	maps.DeleteFunc(given, func(key string, _ any) bool { return key != "name" && !kind.Has(key) })
	return given
}
