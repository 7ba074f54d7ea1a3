package configs

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func comparisonSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(ComparisonSchema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("comparison.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("comparison.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func validate(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	plain, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(plain))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value)
}

func TestComparisonsFollowTheirSchema(t *testing.T) {
	schema := comparisonSchema(t)
	for _, preset := range Comparisons() {
		text, err := ComparisonText(preset.Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, schema, text); err != nil {
			t.Errorf("%s: %v", preset.Name, err)
		}
	}
	if err := validate(t, schema, NewComparison()); err != nil {
		t.Errorf("a new comparison: %v", err)
	}
}

func TestTheSchemaOfComparisonsRefuses(t *testing.T) {
	schema := comparisonSchema(t)
	const good = "name: a\nbase: ring8\nnetworks: [{name: lan, rate: 100mbit}]\n" +
		"algorithms: [{label: A, name: choco, compressor: {name: topk}, gamma: tune(0.1), set: {seed: 2}}]\nseeds: [1]\n"
	if err := validate(t, schema, []byte(good)); err != nil {
		t.Fatal(err)
	}
	for was, is := range map[string]string{
		"base:":         "basis:",
		"rate:":         "rat:",
		"rate: 100mbit": "loss: many",
		"compressor:":   "compresor:",
		"topk}":         "topk, rato: 1}",
		"[1]":           "[one]",
	} {
		if validate(t, schema, []byte(strings.Replace(good, was, is, 1))) == nil {
			t.Errorf("%s in place of %s is not refused", is, was)
		}
	}
}
