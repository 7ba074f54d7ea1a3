package configs

import (
	"encoding/json"
	"fmt"
	"strings"

	reflected "github.com/invopop/jsonschema"
)

// ComparisonSchema returns the JSON schema of comparison files, for editors and documents. It is made from the table of
// their keys and the schema of run files.
func ComparisonSchema() []byte {
	root := newSection("comparison file")
	for _, key := range comparisonTable {
		section, name := root, key.Name
		for {
			first, rest, nested := strings.Cut(name, ".")
			if !nested {
				break
			}
			section, name = sectionBelow(section, first), strings.TrimPrefix(rest, "*.")
		}
		if name == "KEY" {
			addAlgorithmKeys(section)
			continue
		}
		section.Properties.Set(name, comparisonKey(key))
	}
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("internal error: configs: schema: %v", err))
	}
	return text
}

func newSection(title string) *reflected.Schema {
	return &reflected.Schema{
		Title: title, Type: "object", Properties: reflected.NewProperties(), AdditionalProperties: reflected.FalseSchema,
	}
}

// sectionBelow returns the section of that name, or that of its entries if it is a list.
func sectionBelow(above *reflected.Schema, name string) *reflected.Schema {
	below, there := above.Properties.Get(name)
	if !there {
		below = newSection("")
		above.Properties.Set(name, below)
	}
	if below.Items != nil {
		return below.Items
	}
	return below
}

// comparisonKey describes a key of the table.
func comparisonKey(key Key) *reflected.Schema {
	s := &reflected.Schema{Type: key.Type, Description: key.Description}
	switch key.Type {
	case "section":
		s.Type = "object"
	case "list of sections":
		s.Type, s.Items = "array", newSection("")
	case numbers:
		one := &reflected.Schema{Type: "number"}
		s.Type, s.OneOf = "", []*reflected.Schema{one, {Type: "array", Items: one}}
	case "list of integers":
		s.Type, s.Items = "array", &reflected.Schema{Type: "integer"}
	}
	if network, ok := strings.CutPrefix(key.Name, "networks.*."); ok {
		if limit := find("limit." + network); limit != nil {
			s = limit // with its form and its units
		}
	}
	if key.Default != "" {
		s.Default = json.RawMessage(key.Default)
		if s.Type == "string" {
			s.Default = key.Default
		}
	}
	return s
}

// addAlgorithmKeys adds the keys of the section algorithm of a run file. Their values have no type: tune(...) takes the
// place of any of them.
func addAlgorithmKeys(entry *reflected.Schema) {
	for name, of := range properties(find("algorithm")) {
		entry.Properties.Set(name, untyped(of))
	}
}

// untyped returns a schema with the names and descriptions of another one.
func untyped(of *reflected.Schema) *reflected.Schema {
	s := &reflected.Schema{Description: of.Description}
	if of.Properties == nil {
		return s
	}
	s.Properties, s.AdditionalProperties = reflected.NewProperties(), reflected.FalseSchema
	for name, child := range properties(of) {
		s.Properties.Set(name, untyped(child))
	}
	return s
}
