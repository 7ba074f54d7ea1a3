package conformance

import (
	"encoding/json"
	"fmt"
	"testing"
)

// The stories of the second set. An entry may have a step size and a number of steps of its own.
func TestConformanceBehaviour2(t *testing.T) {
	var file struct{ Cases []json.RawMessage }
	Load2(t, "behaviour.json", &file)
	checked := 0
	for _, text := range file.Cases {
		var s story
		decode(t, text, &s)
		for i, expect := range s.Expect {
			if _, refused := expect["refused"]; refused || !built(t, expect["algorithm"]) {
				continue
			}
			checked++
			t.Run(fmt.Sprint(s.Name, i), func(t *testing.T) { s.entry(t, expect) })
		}
	}
	if checked == 0 {
		t.Error("no story is checked")
	}
}

// entry checks an entry of the second set.
func (s story) entry(t *testing.T, expect map[string]json.RawMessage) {
	if text, ok := expect["step_size"]; ok {
		decode(t, text, &s.StepSize)
	}
	if text, ok := expect["steps"]; ok {
		decode(t, text, &s.Steps)
	}
	if text, ok := expect["decode_errors"]; ok {
		expect["decode_errors_exactly"] = text
	}
	s.check(t, expect)
}
