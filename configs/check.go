package configs

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	schema "github.com/invopop/jsonschema"
	"github.com/knadh/koanf/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// check validates the layer by itself against the schema and removes wrong values, so that the rules can judge the
// others. It returns the keys of the wrong values.
func (l *layer) check() (bad []string) {
	_, compiled := schemas()
	values := l.values.Raw()
	var invalid *jsonschema.ValidationError
	if err := compiled.Validate(plainValue(values)); !errors.As(err, &invalid) {
		return nil
	}
	said := map[string]bool{}
	for _, leaf := range leaves(nil, invalid) {
		unknown, _ := leaf.ErrorKind.(*kind.AdditionalProperties)
		if list, ok := wrongEntry(leaf); ok {
			if said[list] {
				continue
			}
			said[list] = true
		}
		for _, p := range explain(leaf) {
			l.problems = append(l.problems, l.at(p, unknown != nil))
			bad = append(bad, p.Key)
		}
		if unknown == nil {
			prune(values, leaf.InstanceLocation)
			continue
		}
		for _, name := range unknown.Properties {
			prune(values, append(leaf.InstanceLocation, name))
		}
	}
	l.values = koanf.New(".")
	l.load(values)
	return bad
}

// wrongEntry returns the list whose entry has a wrong type. Only the first such entry of a list is reported, because
// the others are probably wrong in the same way.
func wrongEntry(leaf *jsonschema.ValidationError) (list string, ok bool) {
	last := len(leaf.InstanceLocation) - 1
	if _, ok := leaf.ErrorKind.(*kind.Type); !ok || last < 0 {
		return "", false
	}
	_, err := strconv.Atoi(leaf.InstanceLocation[last])
	list = strings.Join(leaf.InstanceLocation[:last], ".")
	return list, err == nil
}

// prune removes the value at path from the tree, or the whole list if path leads into one.
func prune(values map[string]any, path []string) {
	for len(path) > 1 {
		section, ok := values[path[0]].(map[string]any)
		if !ok {
			break
		}
		values, path = section, path[1:]
	}
	if len(path) > 0 {
		delete(values, path[0])
	}
}

func leaves(found []*jsonschema.ValidationError, e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return append(found, e)
	}
	for _, cause := range e.Causes {
		found = leaves(found, cause)
	}
	return found
}

// explain puts one violation of the schema into words.
func explain(e *jsonschema.ValidationError) []Problem {
	key := strings.Join(e.InstanceLocation, ".")
	p := Problem{Key: key}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		return unknownKeys(key, k.Properties)
	case *kind.Required:
		p.Message = "lacks the key " + strings.Join(k.Missing, ", ")
	case *kind.Type:
		p.Message = fmt.Sprintf("must be %s, got %s", kindName(k.Want[0]), kindName(k.Got))
		p.Hint = hintOfType(key, k)
	case *kind.Enum:
		p.Message, p.Hint = notAllowed(key, k)
	case *kind.Minimum, *kind.Maximum, *kind.ExclusiveMinimum, *kind.ExclusiveMaximum:
		p.Message = outOfBounds(find(key), k)
	case *kind.MinLength:
		p.Message = "must not be empty"
	case *kind.MaxLength:
		p.Message = fmt.Sprintf("must have at most %d characters, got %d", k.Want, k.Got)
	case *kind.MaxItems:
		p.Message = fmt.Sprintf("must have at most %d entries, got %d", k.Want, k.Got)
	case *kind.Pattern:
		s := find(key)
		p.Message = fmt.Sprintf("must be like %s, got %s", examples(s), show(k.Got))
		p.Hint = s.Description
	default:
		p.Message = fmt.Sprint(e.ErrorKind)
	}
	return []Problem{p}
}

// outOfBounds says which bound a number violates. A duration has bounds where its unit is missing.
func outOfBounds(s *schema.Schema, violated jsonschema.ErrorKind) string {
	words, bound, got := "", (*big.Rat)(nil), (*big.Rat)(nil)
	switch k := violated.(type) {
	case *kind.Minimum:
		words, bound, got = "at least", k.Want, k.Got
	case *kind.Maximum:
		words, bound, got = "at most", k.Want, k.Got
	case *kind.ExclusiveMinimum:
		words, bound, got = "above", k.Want, k.Got
	case *kind.ExclusiveMaximum:
		words, bound, got = "below", k.Want, k.Got
	}
	if isDuration(s) {
		return fmt.Sprintf("must have a unit, as %sms or %ss", number(got), number(got))
	}
	return fmt.Sprintf("must be %s %s, got %s", words, number(bound), number(got))
}

// hintOfType says how to write a value of a type that the key does not take.
func hintOfType(key string, k *kind.Type) string {
	switch s := find(key); {
	case s != nil && len(s.Examples) > 0:
		return "write it like " + examples(s)
	case k.Want[0] == "string" && (k.Got == "number" || k.Got == "boolean"):
		return "put it in quotes"
	case k.Want[0] == "boolean" && k.Got == "string":
		return "write true or false: to YAML, yes, no, on and off are texts"
	}
	return ""
}

// examples writes the examples of a key that has some.
func examples(s *schema.Schema) string {
	text := make([]string, len(s.Examples))
	for i, example := range s.Examples {
		text[i] = fmt.Sprint(example)
	}
	return strings.Join(text, " or ")
}

func unknownKeys(section string, names []string) []Problem {
	var known []string
	for name := range properties(find(section)) {
		known = append(known, name)
	}
	where := "a run file"
	if section != "" {
		where = section
	}
	var problems []Problem
	for _, name := range names {
		problems = append(problems, Problem{
			Key:     join(section, name),
			Message: fmt.Sprintf("unknown key; %s has %s", where, strings.Join(known, ", ")),
			Hint:    didYouMean(name, known),
		})
	}
	return problems
}

func notAllowed(key string, k *kind.Enum) (message, hint string) {
	message = fmt.Sprintf("must be one of %s, got %s", choice(k.Want), show(k.Got))
	var known []string
	for _, v := range k.Want {
		known = append(known, fmt.Sprint(v))
	}
	if got, isText := k.Got.(string); isText {
		hint = cmp.Or(didYouMean(got, known), valueElsewhere(key, got))
	}
	return message, hint
}

// valueElsewhere names the keys of the same section that allow a value: moniqua is a codec and not an algorithm.
func valueElsewhere(key, value string) string {
	section, _, _ := strings.Cut(key, ".")
	var keys []string
	for _, k := range Reference() {
		if within(k.Name, section) && k.Name != key && slices.Contains(k.Values, value) {
			keys = append(keys, k.Name)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is a value of %s, not of %s", value, either(keys), key)
}
