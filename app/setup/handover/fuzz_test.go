package handover

import (
	"encoding/json"
	"strings"
	"testing"
)

// Messages of a machine that knows the token cause no panic, and nothing of them reaches a terminal or a file system
// that could harm it.
func FuzzMessages(f *testing.F) {
	for _, m := range []any{
		request{Program: Program{Version: "v1"}, Port: 4001},
		Offer{Name: "lan", Machines: 2, RunFile: "name: lan\n", Files: []File{{Name: "edges.txt", SHA256: "00", Bytes: 1}}},
		Grant{RunFile: "name: lan\n", Secret: "sesame", Rank: Unranked, Number: 2},
	} {
		text, err := json.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"name":"../x","machines":2,"files":[{"name":"a/b"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, err := parseRequest(body); err == nil && (r.Port < 0 || strings.ContainsAny(r.Program.String(), "\x1b\n")) {
			t.Errorf("%+v", r)
		}
		if o, err := parseOffer(body); err == nil {
			if strings.ContainsAny(o.Name, "./\\\x00") || o.Name == "" || o.Machines < 2 {
				t.Errorf("%+v", o)
			}
			for _, file := range o.Files {
				if strings.ContainsAny(file.Name, "/\\\x00") || strings.HasPrefix(file.Name, ".") {
					t.Errorf("%+v", file)
				}
			}
		}
		if g, err := parseGrant(body); err == nil && (g.RunFile == "" || g.Number < 2) {
			t.Errorf("%+v", g)
		}
	})
}

func TestNamesOfFilesAreHarmless(t *testing.T) {
	for name, want := range map[string]bool{
		"lan": true, "lan-2_B": true, "": false, ".lan": false, "-lan": false, "a/b": false, `a\b`: false, "..": false,
		"lan.yaml": false, "ä": false, strings.Repeat("a", 41): false, "a b": false, "con\x00": false,
	} {
		if got := ValidName(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	if plain("edges.txt") == false || plain("..") || plain("/etc/passwd") {
		t.Error("files lie beside the run file")
	}
}
