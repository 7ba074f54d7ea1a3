package configs

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/invopop/jsonschema"
)

// typesKeyword is the keyword of the schema under which a type that takes several types of YAML lists them.
const typesKeyword = "type"

// A Duration is written like 1.5ms, or 0 without a unit, and never negative.
type Duration time.Duration

// MarshalText writes d the way the standard library does.
func (d Duration) MarshalText() ([]byte, error) {
	return []byte(time.Duration(d).String()), nil
}

// UnmarshalJSON reads a duration with its unit, or 0.
func (d *Duration) UnmarshalJSON(text []byte) error {
	if string(text) == "0" {
		*d = 0
		return nil
	}
	var word string
	if err := json.Unmarshal(text, &word); err != nil {
		return fmt.Errorf("configs: %s is not a duration like 1.5ms", text)
	}
	return d.UnmarshalText([]byte(word))
}

// UnmarshalText reads a duration with its unit.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("configs: %q is not a duration like 1.5ms", text)
	}
	*d = Duration(v)
	return nil
}

// durationTypes are the types of YAML in which a Duration may be written.
var durationTypes = []string{"string", "integer"}

// isDuration reports whether a key holds a Duration.
func isDuration(s *jsonschema.Schema) bool {
	return s != nil && slices.Equal(typesOf(s), durationTypes)
}

const durationPattern = `^(0|([0-9]{1,5}(\.[0-9]{1,9})?(ns|us|µs|ms|s|m|h)){1,3})$`

// JSONSchema describes how a Duration is written. The bounds are those of a number without a unit.
func (Duration) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Minimum:  "0",
		Maximum:  "0",
		Pattern:  durationPattern,
		Examples: []any{"1.5ms"},
		Extras:   map[string]any{typesKeyword: durationTypes},
	}
}

var ratePattern = regexp.MustCompile(`^([0-9]{1,9}(?:\.[0-9]+)?)(bit|kbit|mbit|gbit)$`)

// ParseRate reads a rate like 100mbit and returns bits per second, with decimal prefixes as network equipment counts
// them. An empty text is 0, which means unlimited. A rate is at least leastRate.
func ParseRate(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	part := ratePattern.FindStringSubmatch(text)
	if part == nil {
		return 0, fmt.Errorf("configs: %q is not a rate like 100mbit, 1gbit or 500kbit", text)
	}
	value, err := strconv.ParseFloat(part[1], 64)
	if err != nil || value <= 0 {
		return 0, fmt.Errorf("configs: rate %q must be above 0; leave it empty for no limit", text)
	}
	value *= map[string]float64{"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}[part[2]]
	if value < leastRate {
		return 0, fmt.Errorf("configs: rate %q is below the least one, 1kbit", text)
	}
	return value, nil
}

// leastRate is the smallest rate of a link in bit/s. The time of a frame stays far below what a clock holds.
const leastRate = 1000

// A Size is a number of bytes above 0, written like 64MB with the decimal prefixes of disks, or the word auto.
type Size int64

// AutoSize is the value of the word auto.
const AutoSize Size = 0

const sizeForm = `([1-9][0-9]{0,5}(?:\.[0-9]{1,9})?)(kB|MB|GB|TB)`

var sizePattern = regexp.MustCompile("^" + sizeForm + "$")

// sizeUnits are the units of a Size, the largest first.
var sizeUnits = []struct {
	name  string
	bytes float64
}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}}

// MarshalText writes the word or a number of the largest unit that is not larger than s.
func (s Size) MarshalText() ([]byte, error) {
	for _, unit := range sizeUnits {
		if v := float64(s) / unit.bytes; v >= 1 {
			return []byte(strconv.FormatFloat(v, 'f', -1, 64) + unit.name), nil
		}
	}
	return []byte(computedWord), nil
}

// UnmarshalText reads what MarshalText writes.
func (s *Size) UnmarshalText(text []byte) error {
	if string(text) == computedWord {
		*s = AutoSize
		return nil
	}
	part := sizePattern.FindSubmatch(text)
	if part == nil {
		return fmt.Errorf("configs: %q is not auto or a size like 64MB", text)
	}
	for _, unit := range sizeUnits {
		if unit.name == string(part[2]) {
			v, err := strconv.ParseFloat(string(part[1]), 64)
			*s = Size(math.Round(v * unit.bytes))
			return err
		}
	}
	return nil
}

// JSONSchema describes both forms.
func (Size) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type:     "string",
		Pattern:  "^" + computedWord + "$|^" + sizeForm + "$",
		Examples: []any{computedWord, "64MB"},
	}
}

var linkPattern = regexp.MustCompile(`^([0-9]{1,5})-([0-9]{1,5})$`)

// ParseLink reads the key of one entry of Limit.Links, like "0-1", and returns the two ranks, the smaller first.
func ParseLink(key string) (i, j int, err error) {
	part := linkPattern.FindStringSubmatch(key)
	if part == nil {
		return 0, 0, fmt.Errorf("configs: %q is not a link like 0-1", key)
	}
	i, _ = strconv.Atoi(part[1])
	j, _ = strconv.Atoi(part[2])
	if i >= j {
		return 0, 0, fmt.Errorf("configs: link %q must name the smaller rank first", key)
	}
	return i, j, nil
}
