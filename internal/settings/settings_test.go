package settings

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestDifferencesNameKeysAndValues(t *testing.T) {
	texts := func(train, data string) map[string]json.RawMessage {
		all := map[string]json.RawMessage{"train": json.RawMessage(train)}
		if data != "" {
			all["data"] = json.RawMessage(data)
		}
		return all
	}
	then := texts(`{"rounds": 300, "slow": {"2": 4}, "batch": 8, "hidden": [1, 2]}`, `{"rows": 7}`)
	now := texts(`{"batch":8,"rounds":600,"slow":{},"hidden":[1,3]}`, "")
	want := []Difference{
		{"data.rows", "7", ""}, {"train.hidden", "[1,2]", "[1,3]"}, {"train.rounds", "300", "600"},
		{"train.slow", "", "{}"}, {"train.slow.2", "4", ""},
	}
	if got := Differences(then, now); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Differences(then, then); got != nil {
		t.Errorf("a set differs from itself: %v", got)
	}
}

// Differences accepts any two texts and names only keys whose values differ.
func FuzzDifferences(f *testing.F) {
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{"a":{"b":2},"c":[]}`))
	f.Add([]byte(`{"a":`), []byte(`"\ud800"`))
	f.Fuzz(func(t *testing.T, then, now []byte) {
		one, other := map[string]json.RawMessage{"s": then}, map[string]json.RawMessage{"s": now}
		for _, d := range Differences(one, other) {
			if d.Then == d.Now || d.Key == "" {
				t.Fatalf("%q and %q: no difference: %+v", then, now, d)
			}
		}
	})
}
