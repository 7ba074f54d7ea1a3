package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gossiptrainer/configs"
)

// Every variable that the documents and the reference name sets its key.
func TestDocumentedVariablesAreRead(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := regexp.MustCompile(`PEER_[A-Z]+__[A-Z_]+=[^ \n]+`).FindAllString(string(text), -1)
	if len(documented) < 2 {
		t.Fatalf("docs/operations.md shows %q, want some settings", documented)
	}
	for _, k := range configs.Reference() {
		if k.Variable != "" && k.Default != "" && k.Type != "sections by name" && k.Type != "list of sections" {
			documented = append(documented, k.Variable+"="+k.Default)
		}
	}
	for _, setting := range documented {
		loaded, err := configs.Load(configs.Source{Env: []string{setting}})
		name, _, _ := strings.Cut(setting, "=")
		if e, ok := errors.AsType[*configs.Error](err); ok && len(e.Problems) == 1 &&
			strings.HasPrefix(e.Problems[0].Message, "has no effect") && strings.HasSuffix(e.Problems[0].Source, name) {
			continue // it is read, and the default algorithm has no use for it
		}
		if err != nil {
			t.Errorf("%s: %v", setting, err)
			continue
		}
		key := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "PEER_"), "__", "."))
		if origin := loaded.Origin(key); origin != "environment" && origin != "derived" {
			t.Errorf("%s: the value of %s comes from %s", setting, key, origin)
		}
	}
}
