package configs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/invopop/jsonschema"
)

// A Key is one line of the reference of all keys.
type Key struct {
	Name        string // dotted; * stands for a list index or a link
	Type        string
	Default     string   // as it is written in YAML
	Allowed     string   // values or range, "" for any
	Description string   // with the unit
	Same        bool     // all peers of a run must agree on it
	Values      []string `json:",omitempty"` // all that it may have, where they are few
	Variable    string   // of the environment that sets it, "" where none does
}

// Reference returns all keys in the order of the run file.
func Reference() []Key {
	root, _ := schemas()
	return list(nil, "", root)
}

func list(keys []Key, path string, s *jsonschema.Schema) []Key {
	if s.Properties == nil {
		keys = append(keys, Key{
			Name: path, Type: typeName(s), Default: written(s.Default), Allowed: allowed(s),
			Description: s.Description, Same: s.Extras[sameKeyword] == true, Variable: variable(path),
			Values: values(s),
		})
	}
	for name, child := range properties(s) {
		keys = list(keys, join(path, name), child)
	}
	for _, child := range []*jsonschema.Schema{s.Items, s.AdditionalProperties} {
		if child != nil && child.Properties != nil {
			keys = list(keys, join(path, "*"), child)
		}
	}
	return keys
}

// values lists the allowed values of a key; nil if a range or any text is allowed.
func values(s *jsonschema.Schema) []string {
	if s.Type == "boolean" {
		return []string{"true", "false"}
	}
	var all []string
	for _, v := range s.Enum {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

// variable names the environment variable of a key, as envLayer reads it. A key without a section has none: it would
// look like PEER_DATA, which is no configuration. Neither has one inside a list.
func variable(key string) string {
	if !strings.Contains(key, ".") || strings.Contains(key, "*") {
		return ""
	}
	return "PEER_" + strings.ToUpper(strings.ReplaceAll(key, ".", "__"))
}

func typeName(s *jsonschema.Schema) string {
	switch {
	case s.Type == "array" && s.Items.Properties != nil:
		return "list of sections"
	case s.Type == "array":
		return "list of " + strings.Join(typesOf(s.Items), "s or ") + "s"
	case s.Type == "object":
		return "sections by name"
	}
	if isDuration(s) {
		return "duration"
	}
	return strings.Join(typesOf(s), " or ")
}

// typesOf returns the types of YAML that a key takes.
func typesOf(s *jsonschema.Schema) []string {
	if types, several := s.Extras[typesKeyword].([]string); several {
		return types
	}
	return []string{s.Type}
}

func allowed(s *jsonschema.Schema) string {
	switch {
	case len(s.Enum) > 0:
		return choice(s.Enum)
	case isDuration(s):
		return ""
	}
	var parts []string
	for _, bound := range []struct {
		words string
		value json.Number
	}{{"at least", s.Minimum}, {"above", s.ExclusiveMinimum}, {"at most", s.Maximum}, {"below", s.ExclusiveMaximum}} {
		if bound.value != "" {
			parts = append(parts, fmt.Sprintf("%s %s", bound.words, bound.value))
		}
	}
	if word, ok := literal(s.Pattern); ok {
		parts = append([]string{word}, parts...)
	}
	return strings.Join(parts, ", ")
}

// literal returns the one word that a pattern allows.
func literal(pattern string) (word string, ok bool) {
	word, begins := strings.CutPrefix(pattern, "^")
	word, ends := strings.CutSuffix(word, "$")
	return word, begins && ends && regexp.QuoteMeta(word) == word
}

// written returns a value the way a run file holds it in one line.
func written(value any) string {
	if s, ok := value.(string); ok && s != "" {
		return s
	}
	if value == nil {
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
