package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	reflected "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// sameKeyword is an extra keyword of the schema: all peers of a run must agree on the key.
const sameKeyword = "x-same"

// schemas holds the schema in its two forms: as made from Config, to look keys up in, and compiled, to check values
// against. Both are only read.
var schemas = sync.OnceValues(func() (*reflected.Schema, *jsonschema.Schema) {
	reflector := reflected.Reflector{
		Anonymous: true, DoNotReference: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
	}
	made := reflector.Reflect(&Config{})
	made.Title = "run file"
	annotate(made, "", plainValue(Default()), sameKeys())
	text, err := json.Marshal(made)
	if err != nil {
		panic(fmt.Sprintf("internal error: configs: schema: %v", err))
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		panic(fmt.Sprintf("internal error: configs: schema: %v", err))
	}
	compiler := jsonschema.NewCompiler()
	const name = "run.schema.json"
	if err := compiler.AddResource(name, doc); err != nil {
		panic(fmt.Sprintf("internal error: configs: schema: %v", err))
	}
	return made, compiler.MustCompile(name)
})

// Schema returns the JSON schema of run files, for editors and documents.
func Schema() []byte {
	made, _ := schemas()
	text, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("internal error: configs: schema: %v", err))
	}
	return text
}

// annotate completes the schema of the key at path and of those below it. It adds the values that rows list, defaults,
// and whether all peers must agree.
func annotate(s *reflected.Schema, path string, value any, same map[string]bool) {
	complete(s, path)
	if same[path] {
		setExtra(s, sameKeyword, true)
	}
	if s.Properties == nil {
		s.Default = value
	}
	children, _ := value.(map[string]any)
	for name, child := range properties(s) {
		annotate(child, join(path, name), children[name], same)
	}
	if s.Items != nil {
		annotate(s.Items, join(path, "*"), nil, same)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Type == "object" {
		annotate(s.AdditionalProperties, join(path, "*"), plainValue(LinkLimit{}), same)
	}
}

func setExtra(s *reflected.Schema, key string, value any) {
	if s.Extras == nil {
		s.Extras = map[string]any{}
	}
	s.Extras[key] = value
}

// properties yields the keys of a section in the order of the struct.
func properties(s *reflected.Schema) func(yield func(string, *reflected.Schema) bool) {
	return func(yield func(string, *reflected.Schema) bool) {
		if s == nil || s.Properties == nil {
			return
		}
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			if !yield(p.Key, p.Value) {
				return
			}
		}
	}
}

// find returns the schema of a dotted key, nil if there is none.
func find(path string) *reflected.Schema {
	s, _ := schemas()
	if path == "" {
		return s
	}
	for name := range strings.SplitSeq(path, ".") {
		var next *reflected.Schema
		switch {
		case s.Properties != nil:
			next, _ = s.Properties.Get(name)
		case s.Items != nil:
			next = s.Items
		case s.AdditionalProperties != nil:
			next = s.AdditionalProperties
		}
		if next == nil {
			return nil
		}
		s = next
	}
	return s
}
