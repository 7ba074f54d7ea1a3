package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gossiptrainer/configs"
)

// Every variable that README and the reference name sets its key.
func TestDocumentedVariablesAreRead(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := regexp.MustCompile(`PEER_[A-Z]+__[A-Z_]+=[^ \n]+`).FindAllString(string(text), -1)
	if len(documented) < 2 {
		t.Fatalf("README shows %q, want some settings", documented)
	}
	for _, k := range configs.Reference() {
		if k.Variable != "" && k.Default != "" && k.Type != "sections by name" && k.Type != "list of sections" {
			documented = append(documented, k.Variable+"="+k.Default)
		}
	}
	for _, setting := range documented {
		loaded, err := configs.Load(configs.Source{Env: []string{setting}})
		if err != nil {
			t.Errorf("%s: %v", setting, err)
			continue
		}
		name, _, _ := strings.Cut(setting, "=")
		key := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "PEER_"), "__", "."))
		if origin := loaded.Origin(key); origin != "environment" && origin != "derived" {
			t.Errorf("%s: the value of %s comes from %s", setting, key, origin)
		}
	}
}
