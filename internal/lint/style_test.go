package lint

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	maxFile     = 600 // lines; length follows the idea
	maxTestFile = 1000
	maxFunction = 60
)

// drawers are package names that say nothing of their contents.
var drawers = []string{"util", "utils", "common", "helper", "helpers", "misc", "types", "core", "pkg", "base", "shared"}

// sizes finds files and functions that are too long to be one idea.
func sizes(s source) []string {
	if ast.IsGenerated(s.file) {
		return nil
	}
	limit := maxFile
	if s.isTest() {
		limit = maxTestFile
	}
	var found []string
	if s.lines > limit {
		found = append(found, s.at(s.file.Package, "%d lines: more than %d are more than one idea: split the file", s.lines,
			limit))
	}
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || s.isTest() {
			continue
		}
		if lines := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1; lines > maxFunction {
			found = append(found, s.at(f.Pos(), "function %s has %d lines: more than %d cannot be seen at once: split it",
				f.Name.Name, lines, maxFunction))
		}
	}
	return found
}

// names finds drawers and hidden start-up code.
func names(s source) []string {
	var found []string
	for _, part := range append(strings.Split(s.pkg(), "/"), s.file.Name.Name) {
		if slices.Contains(drawers, part) {
			found = append(found, s.at(s.file.Package,
				"package %s: the name %q says nothing of its duty: name it after what it provides", s.pkg(), part))
			break
		}
	}
	for _, decl := range s.file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			found = append(found, s.at(f.Pos(),
				"func init: it runs unasked in every program and test that imports the package: call a function instead"))
		}
	}
	return found
}

// obvious are methods whose meaning an interface of the standard library gives.
var obvious = []string{"Error", "Unwrap", "Is", "String", "Len", "Less", "Swap", "MarshalText", "UnmarshalText",
	"MarshalJSON", "UnmarshalJSON"}

// comments finds exported names without a doc comment.
func comments(s source) []string {
	if s.isTest() || ast.IsGenerated(s.file) || s.file.Name.Name == "main" {
		return nil
	}
	var found []string
	missing := func(name *ast.Ident) {
		found = append(found, s.at(name.Pos(),
			"%s has no comment: an exported name tells its reader shapes, units, ranges and errors", name.Name))
	}
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) &&
				!(d.Recv != nil && slices.Contains(obvious, d.Name.Name)) {
				missing(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch v := spec.(type) {
				case *ast.TypeSpec:
					if v.Name.IsExported() && d.Doc == nil && v.Doc == nil && v.Comment == nil {
						missing(v.Name)
					}
				case *ast.ValueSpec:
					for _, name := range v.Names {
						if name.IsExported() && d.Doc == nil && v.Doc == nil && v.Comment == nil {
							missing(name)
						}
					}
				}
			}
		}
	}
	return found
}

// exportedReceiver reports whether f is a function or a method of an exported type.
func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	receiver := f.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return r.IsExported()
		default:
			return true
		}
	}
}

// allowedFlags are exported calls in which true has an obvious meaning.
var allowedFlags = map[string]string{
	"gossip Link": "a link is up or down: the event itself, gossip.Machine",
}

// flags finds boolean parameters of exported functions.
func flags(s source) []string {
	if s.isTest() {
		return nil
	}
	var found []string
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || !f.Name.IsExported() || !exportedReceiver(f) || allowedFlags[s.pkg()+" "+f.Name.Name] != "" {
			continue
		}
		for _, param := range f.Type.Params.List {
			if id, ok := param.Type.(*ast.Ident); ok && id.Name == "bool" {
				found = append(found, s.at(param.Pos(),
					"%s takes a bool: a call with true says nothing: make two functions or a named type", f.Name.Name))
			}
		}
	}
	return found
}

// patience finds tests that sleep on the real clock.
func patience(s source) []string {
	if !s.isTest() || importName(s, "testing/synctest") != "" {
		return nil
	}
	timeName := importName(s, "time")
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && timeName != "" && sel.Sel.Name == "Sleep" {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == timeName {
				found = append(found, s.at(n.Pos(),
					"time.Sleep in a test: it is either too short or too long: wait for the event, or use testing/synctest"))
			}
		}
		return true
	})
	return found
}

func TestFilesAndFunctionsAreShort(t *testing.T)          { check(t, sizes) }
func TestPackagesAreNamedAfterTheirDuty(t *testing.T)     { check(t, names) }
func TestExportedNamesAreExplained(t *testing.T)          { check(t, comments) }
func TestNoBooleanParametersInExportedCalls(t *testing.T) { check(t, flags) }
func TestNoTestSleeps(t *testing.T)                       { check(t, patience) }

func TestEveryPackageHasOneComment(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	documented, seen := map[string][]string{}, map[string]token.Pos{}
	for _, s := range all.sources {
		if s.isTest() {
			continue
		}
		seen[s.pkg()] = s.file.Package
		if s.file.Doc != nil {
			documented[s.pkg()] = append(documented[s.pkg()], path.Base(s.path))
			if text := s.file.Doc.Text(); s.file.Name.Name != "main" &&
				!strings.HasPrefix(text, "Package "+s.file.Name.Name+" ") {
				t.Errorf("%s: the package comment does not begin with \"Package %s\": godoc shows its first sentence in lists",
					s.path, s.file.Name.Name)
			}
		}
	}
	for pkg := range seen {
		if n := len(documented[pkg]); n != 1 {
			t.Errorf("%s: %d package comments %v: exactly one says what the package does and what it does not", pkg, n,
				documented[pkg])
		}
	}
}

func TestStyleIsFound(t *testing.T) {
	long := strings.Repeat("\n", maxFunction)
	expect(t, sizes, "internal/sim/x.go", "package sim\nfunc f() {"+long+"}\n", "function f has 61 lines")
	expect(t, sizes, "internal/sim/x_test.go", "package sim\nfunc f() {"+long+"}\n", "")
	expect(t, sizes, "internal/sim/x.go", "package sim\n"+strings.Repeat("\n", maxFile), "601 lines")
	expect(t, sizes, "internal/sim/x.go", "// Code generated by x; DO NOT EDIT.\n\npackage sim\n"+strings.Repeat("\n",
		maxFile), "")
	expect(t, names, "node/util/x.go", "package util\n", `the name "util"`)
	expect(t, names, "node/x.go", "package node\nfunc init() {}\n", "func init")
	expect(t, comments, "internal/sim/x.go", "package sim\nfunc F() {}\n", "F has no comment")
	expect(t, comments, "internal/sim/x.go", "package sim\ntype T struct{}\n", "T has no comment")
	expect(t, comments, "internal/sim/x.go",
		"package sim\n// T is one.\ntype T struct{}\nfunc (*T) M() {}\nfunc (T) Error() string { return \"\" }\n",
		"M has no comment")
	expect(t, comments, "internal/sim/x.go", "package sim\nconst C = 1\n", "C has no comment")
	expect(t, comments, "internal/sim/x.go",
		"package sim\n// All.\nconst (\n\tC = 1\n)\ntype t struct{}\nfunc (t) M() {}\n", "")
	expect(t, flags, "internal/sim/x.go", "package sim\nfunc F(x int, fast bool) {}\n", "F takes a bool")
	expect(t, flags, "internal/sim/x.go", "package sim\nfunc f(fast bool) {}\n", "")
	expect(t, patience, "internal/sim/x_test.go", "package sim\nimport \"time\"\nfunc f() { time.Sleep(1) }\n",
		"too short or too long")
	expect(t, patience, "internal/sim/x_test.go",
		"package sim\nimport (\n\t\"testing/synctest\"\n\t\"time\"\n)\nfunc f() { synctest.Wait(); time.Sleep(1) }\n", "")
}
