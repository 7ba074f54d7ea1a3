package configs

import (
	"strings"
	"testing"
)

func TestClippingThatDoesNotFit(t *testing.T) {
	for set, want := range map[string]string{
		"algorithm={name: d2, clip: {liars: 1}}":                          "it is a setting of dpsgd",
		"algorithm={codec: full, clip: {liars: 1, radius: 2}}":            "give one of the two",
		"algorithm={clip: {liars: 1}}":                                    "with adaptive a Byzantine worker chooses theta",
		"algorithm={clip: {radius: 1}, theta: {rule: certified}}":         "no certificate for clipped mixing",
		"algorithm={clip: {radius: -1}}":                                  "must be at least 0",
		"algorithm={codec: full, clip: {liars: 1}}":                       "",
		"algorithm={bits: 32, clip: {radius: 0.5}}":                       "",
		"algorithm={clip: {liars: 1}, theta: {rule: fixed, value: 0.05}}": "",
	} {
		_, err := Load(Source{Set: []string{set}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q in it", set, err, want)
		}
	}
}
