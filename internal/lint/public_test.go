package lint

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// publicFolders are those at the top that Go programs outside the module may import, with
// the folders below them.
var publicFolders = []string{
	".", "algos", "configs", "gossip", "model", "moniqua", "quant", "topology",
}

// isPublic reports whether a program outside the module may import pkg.
func isPublic(pkg string) bool {
	top, _, _ := strings.Cut(pkg, "/")
	return slices.Contains(publicFolders, top) && !isInternal(pkg)
}

func isInternal(pkg string) bool { return slices.Contains(strings.Split(pkg, "/"), "internal") }

// A checker type-checks packages of the tree without the bodies of their functions. Packages
// of other modules stay empty: what they declare has no type here, and is no concern of ours.
type checker struct {
	files   map[string][]*ast.File // by import path
	checked map[string]*types.Package
}

func newChecker(sources []source) *checker {
	c := &checker{map[string][]*ast.File{}, map[string]*types.Package{"unsafe": types.Unsafe}}
	for _, s := range sources {
		if !s.isTest() {
			c.files[module+s.pkg()] = append(c.files[module+s.pkg()], s.file)
		}
	}
	return c
}

// Import returns a package by its path.
func (c *checker) Import(path string) (*types.Package, error) {
	if p := c.checked[path]; p != nil {
		return p, nil
	}
	files := c.files[path]
	if files == nil {
		p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
		p.MarkComplete()
		c.checked[path] = p
		return p, nil
	}
	// the empty packages of other modules cause errors in nearly every file
	config := types.Config{Importer: c, IgnoreFuncBodies: true, Error: func(error) {}}
	p, _ := config.Check(path, positions, files, nil)
	c.checked[path] = p
	return p, nil
}

// leaks finds exported names of public packages that lead to an internal type: by a signature,
// a field, a method, an embedded type or a definition.
func leaks(sources []source) []string {
	c := newChecker(sources)
	var found []string
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		if name := strings.TrimPrefix(path, module); isPublic(name) {
			p, _ := c.Import(path)
			found = append(found, exportedTypes(p)...)
		}
	}
	for _, s := range sources {
		if isPublic(s.pkg()) && !s.isTest() {
			found = append(found, definitions(s)...)
		}
	}
	return found
}

func exportedTypes(p *types.Package) []string {
	w := walk{pkg: p, seen: map[*types.Named]bool{}}
	for _, name := range p.Scope().Names() {
		object := p.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		if t, ok := object.Type().(*types.Named); ok && t.Obj() == object {
			w.declared(name, t)
		} else {
			w.visit(name, object.Type())
		}
	}
	return w.found
}

// A walk goes through the types that an exported name leads to.
type walk struct {
	pkg   *types.Package
	seen  map[*types.Named]bool
	found []string
}

// declared visits a type that the package declares.
func (w *walk) declared(where string, t *types.Named) {
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	w.visit(where, t.Underlying())
	for m := range t.Methods() {
		if m.Exported() {
			w.visit(where+"."+m.Name(), m.Type())
		}
	}
}

func (w *walk) visit(where string, t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		w.visit(where, types.Unalias(t))
	case *types.Named:
		w.named(where, t)
	case *types.Pointer:
		w.visit(where, t.Elem())
	case *types.Slice:
		w.visit(where, t.Elem())
	case *types.Array:
		w.visit(where, t.Elem())
	case *types.Chan:
		w.visit(where, t.Elem())
	case *types.Map:
		w.visit(where, t.Key())
		w.visit(where, t.Elem())
	case *types.Signature:
		w.signature(where, t)
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				w.visit(where+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			w.visit(where+"."+m.Name(), m.Type())
		}
		for e := range t.EmbeddedTypes() {
			w.visit(where, e)
		}
	case *types.Union:
		for term := range t.Terms() {
			w.visit(where, term.Type())
		}
	}
}

func (w *walk) signature(where string, t *types.Signature) {
	for p := range t.TypeParams().TypeParams() {
		w.visit(where, p.Constraint())
	}
	for v := range t.Params().Variables() {
		w.visit(where, v.Type())
	}
	for v := range t.Results().Variables() {
		w.visit(where, v.Type())
	}
}

func (w *walk) named(where string, t *types.Named) {
	for a := range t.TypeArgs().Types() {
		w.visit(where, a)
	}
	from := t.Obj().Pkg()
	switch {
	case from == nil: // error, comparable
	case isInternal(from.Path()):
		w.found = append(w.found, w.pkg.Path()+": "+where+" names "+t.String()+
			", which no program outside the module can: make it public, or hide it")
	case from == w.pkg && !t.Obj().Exported():
		w.declared(where, t)
	}
}

// definitions finds exported types that are declared by naming an internal one: the type
// checker has replaced the name.
func definitions(s source) []string {
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !spec.Name.IsExported() {
			return true
		}
		if x, ok := spec.Type.(*ast.SelectorExpr); ok && isInternal(importPath(s, x)) {
			found = append(found, s.at(spec.Pos(), "type %s is defined by an internal type: write it out", spec.Name.Name))
		}
		return true
	})
	return found
}

// importPath returns the path of the package that x selects from, "" for another selector.
func importPath(s source, x *ast.SelectorExpr) string {
	from, ok := x.X.(*ast.Ident)
	if !ok {
		return ""
	}
	for _, spec := range s.file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if importName(s, path) == from.Name {
			return path
		}
	}
	return ""
}

func TestPublicPackagesNameNoInternalType(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range leaks(all.sources) {
		t.Error(finding)
	}
}

func TestLeaksAreFound(t *testing.T) {
	const imports = "import (\n\"gossiptrainer/gossip/state\"\n\"gossiptrainer/internal/vec\"\n\"other/lib\"\n)\n"
	for name, test := range map[string]struct{ text, want string }{
		"a parameter":              {"func F(v vec.V) {}", "F names"},
		"a result":                 {"func F() ([]*vec.V, error) { return nil, nil }", "F names"},
		"a field":                  {"type T struct{ Own map[string]vec.V }", "T.Own names"},
		"an embedded type":         {"type T struct{ vec.V }", "T.V names"},
		"a method":                 {"type T int\nfunc (T) M(chan vec.V) {}", "T.M names"},
		"a method of an interface": {"type T interface{ M() vec.V }", "T.M names"},
		"an embedded interface":    {"type T interface{ vec.I }", "T names"},
		"a constraint":             {"func F[S vec.I](s S) {}", "F names"},
		"a type argument":          {"type G[S any] struct{}\nvar X G[vec.V]", "X names"},
		"a variable by its value":  {"var X = vec.V(1)", "X names"},
		"a callback":               {"type T struct{ F func(vec.V) }", "T.F names"},
		"an alias":                 {"type T = vec.V", "T names"},
		"a definition":             {"type T vec.V", "type T is defined"},
		"by an unexported type":    {"type t struct{ Own vec.V }\nfunc F() *t { return nil }", "F.Own names"},
		"by a method of one":       {"type t struct{}\nfunc (t) M() vec.V { return 0 }\nvar X t", "X.M names"},

		"an unexported field":      {"type T struct{ own vec.V }", ""},
		"an unexported function":   {"func f(v vec.V) {}", ""},
		"an unexported method":     {"type T int\nfunc (T) m(vec.V) {}", ""},
		"a body":                   {"func F() { _ = vec.V(1) }", ""},
		"a public type":            {"func F(state.Visit) {}", ""},
		"a type of another module": {"func F(lib.T) {}", ""},
	} {
		var sources []source
		for path, text := range map[string]string{
			"internal/vec/x.go": "package vec\ntype V int\ntype I interface{ V | ~string }\n",
			"gossip/state/x.go": "package state\ntype Visit struct{ own int }\n",
			"algos/x.go":        "package algos\n" + imports + test.text + "\n",
		} {
			s, err := parse(path, []byte(text))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			sources = append(sources, s)
		}
		got := strings.Join(leaks(sources), "\n")
		if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %s\ngot finding %q, want %q", name, test.text, got, test.want)
		}
	}
}
