package main

import (
	"encoding/json"
	"strings"
	"testing"

	"gossiptrainer/configs"
)

// Each key of run files has a value that is not its default, or a reason why other tests set it. The tables name no
// other keys.
func TestEveryKeyIsSet(t *testing.T) {
	var schema property
	if err := json.Unmarshal(configs.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	keys, tried := leaves("", schema), 0
	for key, p := range keys {
		if whole, _, _ := strings.Cut(key, "."); outside[key] != "" || outside[whole] != "" {
			continue
		}
		for _, value := range values(key, p) {
			if value == "?" {
				t.Errorf("%s has no value: add one to texts, or say in outside what it names", key)
			}
			tried++
		}
	}
	if tried < len(keys)/2 {
		t.Errorf("%d values of %d keys", tried, len(keys))
	}
	for _, named := range []map[string]string{outside, texts} {
		for name := range named {
			key, value, only := strings.Cut(name, "=")
			p, known := keys[key]
			if key == "script" || key == "peers" { // the command, and a list
				continue
			}
			if !known {
				t.Errorf("%s is no key: remove it", name)
			} else if only && len(p.Enum) > 0 && !strings.Contains(strings.Join(values(key, p), " "), value) {
				t.Errorf("%s: the key does not take this value: remove it", name)
			}
		}
	}
}
