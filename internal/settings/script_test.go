package settings

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func encode(t *testing.T, s Script) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestScriptsThatDiffer(t *testing.T) {
	script := func(hash string, exact int, tensors ...string) Script {
		s := Script{Elements: 6, Exact: exact, Hash: strings.Repeat(hash, 64)}
		for i, name := range tensors {
			s.Add(name, []int{2, 3 + i})
		}
		return s
	}
	mine := script("a", 0, "fc.weight", "fc.bias")
	for name, test := range map[string]struct {
		theirs Script
		want   string
	}{
		"another shape or name": {script("b", 0, "fc.weight", "out.bias"),
			"its script has other parameters: 2 tensors, 6 elements, hash bbbbbbbbbbbb; here 2 tensors, 6 elements, hash " +
				"aaaaaaaaaaaa; the first difference is tensor 2, out.bias [2 4] there and fc.bias [2 4] here"},
		"fewer":        {script("b", 0, "fc.weight"), "tensor 2, missing there and fc.bias [2 4] here"},
		"more":         {script("b", 0, "fc.weight", "fc.bias", "c"), "tensor 3, c [2 5] there and missing here"},
		"exact":        {script("b", 2, "fc.weight", "fc.bias"), "; 2 elements travel in full precision there and 0 here"},
		"without list": {Script{Hash: "b", Elements: 7, Tensors: 9}, "tensor 1, not listed there and fc.weight [2 3] here"},
	} {
		got := DescribeScripts(encode(t, test.theirs), encode(t, mine))
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q in it", name, got, test.want)
		}
	}
	for _, bad := range []string{``, `{}`, `[1]`, `{"hash":3}`} {
		if got := DescribeScripts(json.RawMessage(bad), encode(t, mine)); got != "" {
			t.Errorf("%q is described as %q", bad, got)
		}
	}
}

func TestALargeScriptIsListedInPart(t *testing.T) {
	var s Script
	for i := range 10_000 {
		s.Add(fmt.Sprintf("layers.%d.weight", i), []int{4, 4})
	}
	if s.Tensors != 10_000 || len(encode(t, s)) > 20<<10 {
		t.Errorf("%d tensors in %d bytes, want all counted and few listed", s.Tensors, len(encode(t, s)))
	}
}

// A script from another machine may hold anything.
func FuzzDescribeScripts(f *testing.F) {
	f.Add([]byte(`{"elements":6,"hash":"a","list":["a [2]"],"tensors":1}`))
	f.Add([]byte(`{"elements":-6,"hash":"` + strings.Repeat("x", 100) + `","tensors":-1}`))
	f.Fuzz(func(t *testing.T, theirs []byte) {
		mine := json.RawMessage(`{"elements":6,"hash":"a","list":["a [2]","b [3]"],"tensors":2}`)
		if text := DescribeScripts(theirs, mine); len(text) > 2000 {
			t.Errorf("a text of %d bytes", len(text))
		}
	})
}
