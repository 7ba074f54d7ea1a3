package configs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/invopop/jsonschema"
)

// A Name is the name of a column, an array or a class. A run file may write it as a number.
type Name string

// plain returns the name as a number if that is how the number is written, else as a text.
func (n Name) plain() any {
	if v, err := strconv.ParseInt(string(n), 10, 64); err == nil && strconv.FormatInt(v, 10) == string(n) {
		return v
	}
	v, err := strconv.ParseFloat(string(n), 64)
	if err == nil && strconv.FormatFloat(v, 'g', -1, 64) == string(n) && v-v == 0 {
		return v
	}
	return string(n)
}

// MarshalJSON writes a number or a text.
func (n Name) MarshalJSON() ([]byte, error) { return json.Marshal(n.plain()) }

// UnmarshalJSON reads a number or a text.
func (n *Name) UnmarshalJSON(text []byte) error {
	var number json.Number
	if len(text) > 0 && text[0] != '"' && json.Unmarshal(text, &number) == nil {
		*n = Name(number)
		return nil
	}
	var word string
	if err := json.Unmarshal(text, &word); err != nil {
		return fmt.Errorf("configs: %s is no name or number", text)
	}
	*n = Name(word)
	return nil
}

// MarshalYAML returns a number or a text.
func (n Name) MarshalYAML() (any, error) { return n.plain(), nil }

// nameTypes are the types of YAML in which a Name may be written.
var nameTypes = []string{"string", "number"}

// isName reports whether a key holds a Name.
func isName(s *jsonschema.Schema) bool { return s != nil && slices.Equal(typesOf(s), nameTypes) }

// JSONSchema describes both forms.
func (Name) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Examples: []any{"species", -1},
		Extras:   map[string]any{typesKeyword: nameTypes},
	}
}

// Texts returns names as texts.
func Texts(names []Name) []string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = string(n)
	}
	return all
}
