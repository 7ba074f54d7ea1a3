package docs

import (
	"bytes"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const formats = "../../docs/format"

// A document is the fenced blocks of a Markdown file by their names.
type document map[string]string

var fence = regexp.MustCompile("(?ms)^```(\\w+) (\\S+)\n(.*?)^```$")

// read returns a document of the folder of formats.
func read(t *testing.T, name string) document {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(formats, name))
	if err != nil {
		t.Fatal(err)
	}
	d, wrong := parse(string(text))
	if wrong != "" {
		t.Fatalf("%s: %s", name, wrong)
	}
	return d
}

// parse returns the named blocks of a text, or their fault.
func parse(text string) (d document, wrong string) {
	d = document{}
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		if _, there := d[block[2]]; there {
			return nil, "two examples are called " + block[2]
		}
		d[block[2]] = block[3]
	}
	return d, ""
}

// bytes returns the bytes of an example. A comment goes from # to the end of its line.
func (d document) bytes(t *testing.T, name string) []byte {
	t.Helper()
	text, there := d[name]
	if !there {
		t.Fatalf("no example is called %s", name)
	}
	b, err := spelled(text)
	if err != nil {
		t.Fatalf("example %s: %v", name, err)
	}
	return b
}

func spelled(text string) ([]byte, error) {
	var digits strings.Builder
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, "#")
		for _, word := range strings.Fields(code) {
			digits.WriteString(word)
		}
	}
	return hex.DecodeString(digits.String())
}

// A decoder compares an example with the code.
type decoder func(t *testing.T, d document, name string)

// decoders are those of all examples, by document.
var decoders = map[string]map[string]decoder{
	"frames.md":      frames,
	"payloads.md":    payloads,
	"events.md":      records,
	"checkpoints.md": checkpoints,
	"journal.md":     journals,
	"bridge.md":      bridges,
	"vectors.md":     vectors,
	"replicas.md":    replicas,
}

func TestExamplesAreWhatTheCodeReadsAndWrites(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(formats, "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		known, d := decoders[name], read(t, name)
		for _, example := range slices.Sorted(maps.Keys(known)) {
			t.Run(name+"/"+example, func(t *testing.T) { known[example](t, d, example) })
		}
		for example := range d {
			if known[example] == nil {
				t.Errorf("%s: nothing decodes the example %s", name, example)
			}
		}
	}
}

func TestExamplesAreFound(t *testing.T) {
	text := "```hex a\n00 # not 01\n\n```\n\n```go\nx\n```\n```json b\n{}\n```\n"
	d, wrong := parse(text)
	if want := (document{"a": "00 # not 01\n\n", "b": "{}\n"}); wrong != "" || !maps.Equal(d, want) {
		t.Errorf("%q, %q: want %q", d, wrong, want)
	}
	if b := d.bytes(t, "a"); !bytes.Equal(b, []byte{0}) {
		t.Errorf("bytes %x, want 00", b)
	}
	if _, err := spelled("0g"); err == nil {
		t.Error("0g spells bytes")
	}
	if _, wrong := parse(text + "```hex a\n```\n"); wrong == "" {
		t.Error("two examples of one name are accepted")
	}
}

// equal compares what an example says with what it should say.
func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// same compares bytes that the code makes with those of the example.
func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s: the code makes\n%swhere the document has\n%s", what, hex.Dump(got), hex.Dump(want))
	}
}
