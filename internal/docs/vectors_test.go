package docs

import (
	"testing"

	wanted "gossiptrainer/node/vector"
)

var vectors = map[string]decoder{"request": func(t *testing.T, d document, name string) {
	want := wanted.Request{Tag: "mean", Call: 3, Elements: 10, From: 4, Count: 6}
	got, ok := wanted.ParseRequest(d.bytes(t, name))
	if !ok {
		t.Fatal("the code refuses the request")
	}
	equal(t, "request", got, want)
	same(t, "request", want.Append(nil), d.bytes(t, name))
}}
