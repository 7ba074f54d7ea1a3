package lint

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// forbiddenImports are packages that the core, layers 0 to 4, does without.
var forbiddenImports = map[string]string{
	"net":          "the core opens no socket: drivers (sim, node) own transport",
	"net/http":     "the core opens no socket: only internal/data/fetch.go downloads",
	"log":          "the core logs nothing: it returns errors and values",
	"log/slog":     "the core logs nothing: it returns errors and values",
	"os/signal":    "the core handles no signals: the command line does",
	"math/rand":    "randomness is a function of (seed, round, index): package internal/rng",
	"math/rand/v2": "randomness is a function of (seed, round, index): package internal/rng",
}

// allowedImports are the exceptions, as file and import.
var allowedImports = map[[2]string]string{
	{"internal/data/fetch.go", "net/http"}: "fetching a data set is its only duty",
}

// clocks are the functions of package time that read or wait for a clock.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// allowedVariables are package variables of the core that nothing assigns,
// with the reason why they are no constants.
var allowedVariables = map[string]string{
	"internal/kernel/tier.go chosen": "what the machine can do, and PEER_SIMD, read once when the program starts",
	"moniqua/grid.go roundingNames":  "a table from number to name",
	"model/builder.go zeros":         "a start: Go has no constant structs",
	"model/builder.go ones":          "a start: Go has no constant structs",
	"internal/chart/style.go Blue":   "a colour: Go has no constant structs",
	"internal/chart/style.go Orange": "a colour: Go has no constant structs",
	"internal/chart/style.go Faint":  "a colour: Go has no constant structs",
	"internal/chart/style.go grid":   "a colour: Go has no constant structs",
}

// purity finds what makes the core depend on more than its arguments.
func purity(s source) []string {
	if s.isTest() || !inCore(s.pkg()) {
		return nil
	}
	found := forbiddenImport(s)
	timeName := importName(s, "time")
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, s.at(n.Pos(),
				"go statement: the core starts no goroutine, so that the same calls give the same bits; drivers own concurrency"))
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && timeName != "" && x.Name == timeName && slices.Contains(clocks, n.Sel.Name) {
				found = append(found, s.at(n.Pos(), "time.%s: the core reads no clock: time is an argument", n.Sel.Name))
			}
		}
		return true
	})
	for _, decl := range s.file.Decls {
		if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.VAR {
			found = append(found, variables(s, g)...)
		}
	}
	return found
}

func forbiddenImport(s source) []string {
	var found []string
	for _, spec := range s.file.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		reason, forbidden := forbiddenImports[name]
		if !forbidden {
			reason, forbidden = forbiddenImports["net"], strings.HasPrefix(name, "net/") ||
				strings.HasPrefix(name, "github.com/libp2p/")
		}
		if _, allowed := allowedImports[[2]string{s.path, name}]; forbidden && !allowed {
			found = append(found, s.at(spec.Pos(), "import of %s: %s", name, reason))
		}
	}
	return found
}

// importName returns the name under which s knows a package, "" if it does not.
func importName(s source, pkg string) string {
	for _, spec := range s.file.Imports {
		if name, _ := strconv.Unquote(spec.Path.Value); name == pkg {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return pkg[strings.LastIndex(pkg, "/")+1:]
		}
	}
	return ""
}

// variables finds package variables other than sentinel errors, interface
// checks and embedded files.
func variables(s source, g *ast.GenDecl) []string {
	var found []string
	for _, spec := range g.Specs {
		v := spec.(*ast.ValueSpec)
		for i, name := range v.Names {
			_, allowed := allowedVariables[s.path+" "+name.Name]
			if allowed || name.Name == "_" || embedded(g, v) || i < len(v.Values) && isSentinel(v.Values[i]) {
				continue
			}
			found = append(found, s.at(name.Pos(),
				"package variable %s: the core keeps no state between calls; make it a constant, a function or a field, or give "+
					"its reason in allowedVariables", name.Name))
		}
	}
	return found
}

func embedded(g *ast.GenDecl, v *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{g.Doc, v.Doc} {
		if doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return true
		}
	}
	return false
}

func isSentinel(value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	return ok && x.Name == "errors" && f.Sel.Name == "New"
}

func TestTheCoreDependsOnItsArgumentsAlone(t *testing.T) { check(t, purity) }

func TestExceptionsAreNeeded(t *testing.T) {
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, s := range all.sources {
		for _, spec := range s.file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			there[s.path+" "+name] = true
		}
		for _, name := range packageVariables(s) {
			there[s.path+" "+name] = true
		}
	}
	for name := range allowedVariables {
		if !there[name] {
			t.Errorf("allowedVariables: %s is gone: remove the exception", name)
		}
	}
	for pair := range allowedImports {
		if !there[pair[0]+" "+pair[1]] {
			t.Errorf("allowedImports: %s no longer imports %s: remove the exception", pair[0], pair[1])
		}
	}
}

func packageVariables(s source) []string {
	var names []string
	for _, decl := range s.file.Decls {
		if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, spec := range g.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

// assignments finds what writes to, or takes the address of, a package variable
// that allowedVariables lets pass as a constant. A local variable of the same
// name counts too.
func assignments(s source) []string {
	var found []string
	constant := func(x ast.Expr) {
		for {
			switch inner := x.(type) {
			case *ast.IndexExpr:
				x = inner.X
			case *ast.SelectorExpr:
				x = inner.X
			case *ast.Ident:
				for allowed := range allowedVariables {
					file, name, _ := strings.Cut(allowed, " ")
					if name == inner.Name && path.Dir(file) == s.pkg() {
						found = append(found, s.at(inner.Pos(),
							"%s is written to: it is a package variable only because Go has no such constant", name))
					}
				}
				return
			default:
				return
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, x := range n.Lhs {
					constant(x)
				}
			}
		case *ast.IncDecStmt:
			constant(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				constant(n.X)
			}
		}
		return true
	})
	return found
}

func TestAllowedVariablesAreNeverWritten(t *testing.T) {
	check(t, assignments)
	const name = "moniqua/x.go"
	expect(t, assignments, name, "package moniqua\nfunc f() { roundingNames[0] = \"x\" }\n", "is written to")
	expect(t, assignments, name, "package moniqua\nfunc f() { p := &roundingNames; _ = p }\n", "is written to")
	expect(t, assignments, name, "package moniqua\nfunc f() { x := roundingNames[0]; _ = x }\n", "")
}

func TestImpurityIsFound(t *testing.T) {
	for text, want := range map[string]string{
		"import \"net\"":                                         "opens no socket",
		"import \"net/netip\"":                                   "opens no socket",
		"import \"log/slog\"":                                    "logs nothing",
		"import \"math/rand/v2\"":                                "function of (seed",
		"import \"time\"\nvar _ = time.Second":                   "",
		"import \"time\"\nfunc f() { time.Sleep(1) }":            "reads no clock",
		"import clock \"time\"\nfunc f() { _ = clock.Now() }":    "reads no clock",
		"func f() { go f() }":                                    "starts no goroutine",
		"var cache = map[int]int{}":                              "keeps no state",
		"var a, b int":                                           "package variable b",
		"import \"errors\"\nvar ErrX = errors.New(\"x\")":        "",
		"var _ error = (*e)(nil)\ntype e struct{ error }":        "",
		"import _ \"embed\"\n//go:embed table.bin\nvar t []byte": "",
	} {
		expect(t, purity, "gossip/x.go", "package gossip\n"+text+"\n", want)
	}
	expect(t, purity, "node/x.go", "package node\nimport \"net\"\nvar x = net.IPv4len\n", "")
	expect(t, purity, "internal/data/fetch.go", "package data\nimport _ \"net/http\"\n", "")
	expect(t, purity, "internal/data/files.go", "package data\nimport _ \"net/http\"\n", "only internal/data/fetch.go")
}
