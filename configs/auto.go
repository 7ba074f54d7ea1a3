package configs

import (
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"
)

// An Auto is a number above 0 and at most 1, or the word auto: package experiment then computes the number from the
// rest of the run file.
type Auto float64

// Computed is the value of the word auto.
const Computed Auto = 0

const computedWord = "auto"

// MarshalJSON writes the word or the number.
func (a Auto) MarshalJSON() ([]byte, error) {
	if a == Computed {
		return json.Marshal(computedWord)
	}
	return json.Marshal(float64(a))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Auto) UnmarshalJSON(text []byte) error {
	if string(text) == `"`+computedWord+`"` {
		*a = Computed
		return nil
	}
	var v float64
	if err := json.Unmarshal(text, &v); err != nil || !(v > 0 && v <= 1) {
		return fmt.Errorf("configs: %s is not auto or a number above 0 and at most 1", text)
	}
	*a = Auto(v)
	return nil
}

// MarshalYAML returns the word or the number.
func (a Auto) MarshalYAML() (any, error) {
	if a == Computed {
		return computedWord, nil
	}
	return float64(a), nil
}

// JSONSchema describes both forms. Each bound applies only to values of its own type, so that an error of the schema
// names one thing that is wrong.
func (Auto) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		ExclusiveMinimum: "0",
		Maximum:          "1",
		Pattern:          "^" + computedWord + "$",
		Examples:         []any{computedWord, 0.5},
		Extras:           map[string]any{typesKeyword: []string{"number", "string"}},
	}
}
