package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"

	"github.com/goccy/go-yaml"
)

// YAML returns the configuration as a run file with every key that has an effect.
func (c Config) YAML() []byte {
	keys := c.effective("", reflect.ValueOf(c))
	text, err := yaml.MarshalWithOptions(keys, yaml.CustomMarshaler(marshalText))
	if err != nil {
		panic(fmt.Sprintf("internal error: configs: %v", err))
	}
	return text
}

// plainText matches words that YAML reads as text without quotes. They begin with a letter or a slash, like names,
// paths and multiaddrs.
var plainText = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*$`)

// marshalText quotes all other text, and words that YAML reads as another type. JSON's quoted strings are valid YAML.
func marshalText(s string) ([]byte, error) {
	var word any
	if plainText.MatchString(s) && yaml.Unmarshal([]byte(s), &word) == nil && word == any(s) {
		return []byte(s), nil
	}
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return bytes.TrimRight(quoted.Bytes(), "\n"), err
}

// effective returns the keys with an effect below a path, in the order of the run file, as what YAML writes.
func (c *Config) effective(path string, section reflect.Value) yaml.MapSlice {
	var keys yaml.MapSlice
	for i := range section.NumField() {
		name := section.Type().Field(i).Tag.Get("json")
		if name == "-" {
			continue
		}
		key := join(path, name)
		field := section.Field(i)
		if field.Kind() == reflect.Struct {
			if inner := c.effective(key, field); len(inner) > 0 {
				keys = append(keys, yaml.MapItem{Key: name, Value: inner})
			}
			continue
		}
		if row := rowOf(key); row.failing(c, key) == nil {
			keys = append(keys, yaml.MapItem{Key: name, Value: field.Interface()})
		}
	}
	return keys
}
