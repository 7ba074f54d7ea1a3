package configs

import (
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"
)

// Rounds is how many rounds a run has. It is ByScript where the scripts of an external model decide.
type Rounds int

// ByScript is the value of the word script. No script can take more steps.
const ByScript Rounds = MostRounds + 1

// MostRounds is the largest number of rounds.
const MostRounds = 10_000_000

const scriptWord = "script"

// Known returns the number, 0 where the scripts decide.
func (r Rounds) Known() int {
	if r == ByScript {
		return 0
	}
	return int(r)
}

// MarshalJSON writes the word or the number.
func (r Rounds) MarshalJSON() ([]byte, error) {
	plain, err := r.MarshalYAML()
	if err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Rounds) UnmarshalJSON(text []byte) error {
	if string(text) == `"`+scriptWord+`"` {
		*r = ByScript
		return nil
	}
	var n int
	if err := json.Unmarshal(text, &n); err != nil {
		return fmt.Errorf("configs: %s is neither %s nor a number of rounds", text, scriptWord)
	}
	*r = Rounds(n)
	return nil
}

// MarshalYAML returns the word or the number.
func (r Rounds) MarshalYAML() (any, error) {
	if r == ByScript {
		return scriptWord, nil
	}
	return int(r), nil
}

// JSONSchema describes both forms.
func (Rounds) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Minimum:  "1",
		Maximum:  json.Number(fmt.Sprint(MostRounds)),
		Pattern:  "^" + scriptWord + "$",
		Examples: []any{scriptWord, 300},
		Extras:   map[string]any{typesKeyword: []string{"integer", "string"}},
	}
}
