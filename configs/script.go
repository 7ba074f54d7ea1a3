package configs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/invopop/jsonschema"
)

// scriptKey is the key of the script in a run file.
const scriptKey = "faults.script"

// A Fault is one entry of Faults.Script: a moment, what happens, and its settings.
type Fault struct {
	At        Moment  `json:"at" jsonschema:"required" jsonschema_description:"when it happens: a number of rounds, as the first peer begins that round, from 0 on; or a time like 2s since the first round began, virtual in sim"`
	Kill      *int    `json:"kill,omitempty" jsonschema:"minimum=0,maximum=65535" jsonschema_description:"rank of the peer whose process dies (kill -9) and is started again, from its newest checkpoint under the policy wait"`
	Cut       []int   `json:"cut,omitempty" jsonschema_description:"two neighbours whose link is lost, with the frames on their way, and cannot be made until the fault is over"`
	Hang      *int    `json:"hang,omitempty" jsonschema:"minimum=0,maximum=65535" jsonschema_description:"rank of the peer whose process stands still (SIGSTOP); its neighbours take it for dead after node.detect"`
	Slow      *int    `json:"slow,omitempty" jsonschema:"minimum=0,maximum=65535" jsonschema_description:"rank of the peer whose gradients take longer, as by says"`
	By        float64 `json:"by,omitempty" jsonschema:"minimum=1,maximum=1000" jsonschema_description:"slow: the factor"`
	Partition [][]int `json:"partition,omitempty" jsonschema_description:"groups of ranks: all links between two groups are cut; peers in no group form one more"`
	Rate      string  `json:"rate,omitempty" jsonschema:"example=100kbit" jsonschema_description:"bit/s that the uplink of the peer carries which of names, instead of limit.rate and the rates of limit.links, if they are higher"`
	Of        *int    `json:"of,omitempty" jsonschema:"minimum=0,maximum=65535" jsonschema_description:"rate: rank of the peer"`
	Join      *int    `json:"join,omitempty" jsonschema:"minimum=1,maximum=1024" jsonschema_description:"membership.mode view: number of members that ask to join. They get the next ids: those of the founders are 0 to topology.size - 1"`
	Leave     *int    `json:"leave,omitempty" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"membership.mode view: id of the member that leaves, as with Ctrl-C"`
	Die       *int    `json:"die,omitempty" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"membership.mode view: id of the member whose process dies (kill -9), for good"`
	For       Lasting `json:"for,omitempty" jsonschema_description:"how long the fault lasts, like 5s. The faults cut, hang and partition need it; slow and rate otherwise last to the end of the run. A killed process starts again after this time, at once without it, and never with the word never"`
}

// A Moment is when a fault begins: in a round, or at a time.
type Moment struct {
	Round int           // as the first peer begins this round, ≥ 0
	Timed bool          // at Time instead
	Time  time.Duration // since the first round began, ≥ 0
}

// MarshalJSON writes a number or a duration.
func (m Moment) MarshalJSON() ([]byte, error) {
	if m.Timed {
		return json.Marshal(Duration(m.Time))
	}
	return json.Marshal(m.Round)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Moment) UnmarshalJSON(text []byte) error {
	*m = Moment{}
	if err := json.Unmarshal(text, &m.Round); err == nil && m.Round >= 0 {
		return nil
	}
	*m = Moment{Timed: true}
	var d Duration
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("configs: %s is neither a number of rounds nor a duration like 2s", text)
	}
	m.Time = time.Duration(d)
	return nil
}

// MarshalYAML returns a number or a duration.
func (m Moment) MarshalYAML() (any, error) {
	if m.Timed {
		return Duration(m.Time), nil
	}
	return m.Round, nil
}

// JSONSchema describes both forms. Each bound applies only to values of its own type.
func (Moment) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Minimum:  "0",
		Maximum:  "10000000",
		Pattern:  durationPattern,
		Examples: []any{40, "2s"},
		Extras:   map[string]any{typesKeyword: []string{"integer", "string"}},
	}
}

// A Lasting is the duration of a fault: 0 if it is not given, Never for the word never.
type Lasting time.Duration

// Never is the length of a fault that does not end.
const Never Lasting = -1

const neverWord = "never"

// MarshalText writes the word or the duration.
func (l Lasting) MarshalText() ([]byte, error) {
	if l == Never {
		return []byte(neverWord), nil
	}
	return Duration(l).MarshalText()
}

// UnmarshalJSON reads the word, a duration with its unit, or 0.
func (l *Lasting) UnmarshalJSON(text []byte) error {
	if string(text) == `"`+neverWord+`"` {
		*l = Never
		return nil
	}
	return (*Duration)(l).UnmarshalJSON(text)
}

// JSONSchema describes all forms.
func (Lasting) JSONSchema() *jsonschema.Schema {
	s := Duration(0).JSONSchema()
	s.Pattern = "^" + neverWord + "$|" + s.Pattern
	s.Examples = []any{"5s", neverWord}
	return s
}

// MarshalYAML returns the keys that are given.
func (f Fault) MarshalYAML() (any, error) {
	var keys yaml.MapSlice
	v := reflect.ValueOf(f)
	for i := range v.NumField() {
		name, _, optional := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if field := v.Field(i); !optional || !field.IsZero() {
			keys = append(keys, yaml.MapItem{Key: name, Value: reflect.Indirect(field).Interface()})
		}
	}
	return keys, nil
}
