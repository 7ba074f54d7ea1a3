package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A source is one Go file of the repository.
type source struct {
	path  string // from the root of the repository, with slashes
	fset  *token.FileSet
	file  *ast.File
	lines int
}

// pkg returns the folder of the file, the import path without the module.
func (s source) pkg() string { return path.Dir(s.path) }

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// at places a finding.
func (s source) at(pos token.Pos, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", s.path, s.fset.Position(pos).Line, fmt.Sprintf(format, args...))
}

// positions are those of all sources: the type checker wants one set.
var positions = token.NewFileSet()

func parse(name string, text []byte) (source, error) {
	file, err := parseInto(positions, name, text)
	return source{name, positions, file, bytes.Count(text, []byte("\n"))}, err
}

func parseInto(fset *token.FileSet, name string, text []byte) (*ast.File, error) {
	return parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
}

// A tree is what the rules look at.
type tree struct {
	sources []source
	texts   map[string][]byte // every text file, Go or not
	files   map[string]bool   // every file and folder
}

// repository reads the tree once for all tests.
var repository = sync.OnceValues(func() (tree, error) {
	found := tree{texts: map[string][]byte{}, files: map[string]bool{}}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(full string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, full)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		found.files[name] = true
		switch {
		case entry.IsDir() && (name == ".git" || name == "runs" || name == "site" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case !entry.Type().IsRegular() || name == ".git" || name == "peer" || strings.HasSuffix(name, ".prof"):
			return nil
		}
		return found.add(name, full)
	})
	return found, err
})

func (t *tree) add(name, full string) error {
	text, err := os.ReadFile(full)
	if err != nil {
		return err
	}
	if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
		return nil
	}
	t.texts[name] = text
	if !strings.HasSuffix(name, ".go") {
		return nil
	}
	s, err := parse(name, text)
	t.sources = append(t.sources, s)
	return err
}

// check runs a rule over all Go files.
func check(t *testing.T, rule func(source) []string) {
	t.Helper()
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all.sources {
		for _, finding := range rule(s) {
			t.Error(finding)
		}
	}
}

// expect holds a rule against a small file: it must find want, or nothing if
// want is empty.
func expect(t *testing.T, rule func(source) []string, name, text, want string) {
	t.Helper()
	s, err := parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(rule(s), "\n")
	if (want == "") != (got == "") || !strings.Contains(got, want) {
		t.Errorf("%s:\n%s\ngot finding %q, want %q", name, text, got, want)
	}
}
