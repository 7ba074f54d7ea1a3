package screen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"gossiptrainer/configs"
)

// asciiOutput returns an output for another locale than UTF-8, and a function that reads its text.
func asciiOutput(t *testing.T) (o *Output, written func() string) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return &Output{File: file, ascii: true}, func() string {
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

func TestOutputIsASCIIWhereTheLocaleIsNotUTF8(t *testing.T) {
	o, written := asciiOutput(t)
	text := "── 0 ── │ ┘ ●╲· D² torus: 4 × 4, θ ≥ 2³¹, ±1 µs … \x1b[1m━\x1b[0m grüße\n"
	for i := range len(text) { // every character is cut where it can be
		if n, err := o.Write([]byte{text[i]}); n != 1 || err != nil {
			t.Fatalf("wrote %d bytes, error %v", n, err)
		}
	}
	want := "-- 0 -- | + o\\. D2 torus: 4 x 4, theta >= 231, +-1 us ... \x1b[1m=\x1b[0m grüße\n"
	if got := written(); got != want {
		t.Errorf("a byte at a time:\n%q\nwant\n%q", got, want)
	}
	if _, err := o.Write([]byte("2³¹")); err != nil || !strings.HasSuffix(written(), "2^31") {
		t.Errorf("wrote %q, error %v", written(), err)
	}
}

func TestLocale(t *testing.T) {
	tests := []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"LANG": "de_DE.UTF-8"}, true},
		{map[string]string{"LANG": "C.utf8"}, true},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_ALL": "C"}, false},
		{map[string]string{"LANG": "C", "LC_CTYPE": "en_US.UTF-8"}, true},
		{map[string]string{"LANG": "en_US.ISO-8859-1"}, false},
	}
	for _, tt := range tests {
		if got := speaksUTF8(func(name string) string { return tt.env[name] }); got != tt.want {
			t.Errorf("%v: UTF-8 is %v, want %v", tt.env, got, tt.want)
		}
	}
}

// Every sign beyond ASCII in a text of this program, its presets and its comparisons has a replacement.
func TestEverySignHasOneInASCII(t *testing.T) {
	const byteOrderMark = "\ufeff" // is only looked for
	check := func(where, text string) {
		if !utf8.ValidString(text) {
			return // the first bytes of a file format, which are never printed
		}
		for _, r := range inASCII.Replace(strings.ReplaceAll(text, byteOrderMark, "")) {
			if r > 127 {
				t.Errorf("%s: %q stays beyond ASCII: add it to inASCII: %.60q", where, r, text)
			}
		}
	}
	for _, p := range append(configs.Presets(), configs.Comparisons()...) {
		check(p.Name, p.About+string(p.Text))
	}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "test" || name == "gen" || strings.HasPrefix(name, ".git")) {
			return fs.SkipDir // other programs
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(source, func(n ast.Node) bool {
			if forDocuments(n) {
				return false
			}
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Error(err)
				}
				check(path, text)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// forDocuments reports whether a node is a text of package registry for Markdown files, which
// no command prints.
func forDocuments(n ast.Node) bool {
	literal, ok := n.(*ast.CompositeLit)
	if !ok {
		return false
	}
	kind, ok := literal.Type.(*ast.Ident)
	return ok && (kind.Name == "AlgorithmText" || kind.Name == "CompressorText")
}
